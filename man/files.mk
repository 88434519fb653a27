# The manuals, in mdoc.  The options' part comes from the one table of options, which
# the program itself prints; both name this build's sysconfdir, so they are made by each
# build and never packed.
nodist_man_MANS = man/shufflefs.1 man/shufflefs.conf.5
EXTRA_DIST += man/shufflefs.1.in man/shufflefs.conf.5.in
CLEANFILES += $(nodist_man_MANS)

# These are the same for all builds.
dist_man_MANS = man/shufflefs-ioctl.4 man/shufflefs-order.7 man/shufflefs-sidecar.1

man/shufflefs.1: $(srcdir)/man/shufflefs.1.in shufflefs$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) man && \
	./shufflefs$(EXEEXT) help --mdoc >$@.options && \
	sed -e '/^@OPTIONS@$$/r $@.options' -e '/^@OPTIONS@$$/d' \
	    -e 's|@sysconfdir[@]|$(sysconfdir)|g' $(srcdir)/man/shufflefs.1.in >$@.tmp && \
	rm -f $@.options && mv $@.tmp $@

man/shufflefs.conf.5: $(srcdir)/man/shufflefs.conf.5.in
	$(AM_V_GEN)$(MKDIR_P) man && \
	sed -e 's|@sysconfdir[@]|$(sysconfdir)|g' $(srcdir)/man/shufflefs.conf.5.in >$@.tmp && \
	mv $@.tmp $@
