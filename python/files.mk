# The Python module.  csrc/ has links to rdma/ and include/; a tarball has files there.
EXTRA_DIST += \
	python/LICENSE \
	python/MANIFEST.in \
	python/README.md \
	python/csrc/ring-consumer.c \
	python/csrc/ring-memory.h \
	python/csrc/shufflefs/ring.h \
	python/pyproject.toml \
	python/setup.py \
	python/shufflefs/__init__.py \
	python/shufflefs/_ring.c \
	python/shufflefs/_ring.pyi \
	python/shufflefs/py.typed \
	python/shufflefs/ring.py

# A wheel in this folder.  Builds on a copy: setuptools writes beside its sources.
python-wheel:
	rm -rf python-wheel.tmp
	mkdir -p python-wheel.tmp
	cp -RL $(srcdir)/python python-wheel.tmp/
	chmod -R u+w python-wheel.tmp
	$(PYTHON3) -m pip wheel --no-deps --wheel-dir . $(PIP_FLAGS) ./python-wheel.tmp/python
	rm -rf python-wheel.tmp

.PHONY: python-wheel
