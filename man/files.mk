# The manuals, in mdoc.  Lists of options come from the tables of options, which the
# programs themselves print, and two name this build's sysconfdir, so these are made by
# each build and never packed.
nodist_man_MANS = man/shufflefs.1 man/shufflefs.conf.5
if SIDECAR
nodist_man_MANS += man/shufflefs-sidecar.1
endif
EXTRA_DIST += man/shufflefs.1.in man/shufflefs.conf.5.in man/shufflefs-sidecar.1.in
CLEANFILES += man/shufflefs.1 man/shufflefs.conf.5 man/shufflefs-sidecar.1

# These are the same for all builds.
dist_man_MANS = man/shufflefs-order.7
EXTRA_DIST += man/shufflefs-ioctl.4
if SIDECAR
dist_man_MANS += man/shufflefs-ioctl.4
endif

# What is between these two comments in a manual is about the sidecar.
if SIDECAR
sed_sidecar = -e '/^\.\\" sidecar[{}]$$/d'
else
sed_sidecar = -e '/^\.\\" sidecar{$$/,/^\.\\" sidecar}$$/d'
endif

man/shufflefs.1: $(srcdir)/man/shufflefs.1.in shufflefs$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) man && \
	./shufflefs$(EXEEXT) help --mdoc >$@.options && \
	./shufflefs$(EXEEXT) help --mdoc-forward >$@.forward && \
	sed $(sed_sidecar) -e '/^@OPTIONS@$$/r $@.options' -e '/^@OPTIONS@$$/d' \
	    -e '/^@FORWARD@$$/r $@.forward' -e '/^@FORWARD@$$/d' \
	    -e 's|@sysconfdir[@]|$(sysconfdir)|g' $(srcdir)/man/shufflefs.1.in >$@.tmp && \
	rm -f $@.options $@.forward && mv $@.tmp $@

man/shufflefs-sidecar.1: $(srcdir)/man/shufflefs-sidecar.1.in shufflefs-sidecar$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) man && \
	./shufflefs-sidecar$(EXEEXT) send --mdoc >$@.send && \
	./shufflefs-sidecar$(EXEEXT) recv --mdoc >$@.recv && \
	sed -e '/^@SEND@$$/r $@.send' -e '/^@SEND@$$/d' \
	    -e '/^@RECV@$$/r $@.recv' -e '/^@RECV@$$/d' \
	    $(srcdir)/man/shufflefs-sidecar.1.in >$@.tmp && \
	rm -f $@.send $@.recv && mv $@.tmp $@

man/shufflefs.conf.5: $(srcdir)/man/shufflefs.conf.5.in
	$(AM_V_GEN)$(MKDIR_P) man && \
	sed -e 's|@sysconfdir[@]|$(sysconfdir)|g' $(srcdir)/man/shufflefs.conf.5.in >$@.tmp && \
	mv $@.tmp $@
