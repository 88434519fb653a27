# The Python module.  setup.py copies what it needs of sidecar/ring/ and include/.
EXTRA_DIST += \
	python/MANIFEST.in \
	python/README.md \
	python/pyproject.toml \
	python/setup.py \
	python/shufflefs/__init__.py \
	python/shufflefs/_ring.c \
	python/shufflefs/_ring.pyi \
	python/shufflefs/batches.py \
	python/shufflefs/child.py \
	python/shufflefs/cuda.py \
	python/shufflefs/device.py \
	python/shufflefs/py.typed \
	python/shufflefs/ring.py \
	python/shufflefs/samples.py \
	python/shufflefs/session.py

# A wheel in this folder.  Builds on a copy: setuptools writes beside its sources.
python-wheel:
	rm -rf python-wheel.tmp
	mkdir -p python-wheel.tmp
	cp -R $(srcdir)/python $(srcdir)/sidecar $(srcdir)/include $(srcdir)/LICENSE python-wheel.tmp/
	chmod -R u+w python-wheel.tmp
	$(PYTHON3) -m pip wheel --no-deps --wheel-dir . $(PIP_FLAGS) ./python-wheel.tmp/python
	rm -rf python-wheel.tmp

.PHONY: python-wheel
