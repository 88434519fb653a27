/* SPDX-License-Identifier: MIT */
/* _ring - the C library of rings (shufflefs/ring.h) for Python, as thin as it can be.
 *
 * How this works.  A Handle is an attached ring, a Lease is a batch that is ours: the
 * memory of a batch keeps its lease alive, and a lease its handle.  So a ring is only
 * unmapped when nothing points into it any more, and a batch that nobody can reach is
 * given back. close() gives all batches back at once, and leaves the mapping to the last
 * lease.
 *
 * next() and the attaching wait without the GIL, in slices: between two of them Python
 * runs the handlers of signals, and another thread's close() is seen.  A signal that
 * comes just before a wait begins would otherwise be noticed only after it.
 *
 * dlpack() describes memory, of the host or of a GPU, as other libraries take it: a
 * DLManagedTensor in a capsule, which holds a Python object for as long as they use it.
 *
 * CPython's limited API of 3.9, which has no buffers: ring.py makes them of the address.
 */
#define PY_SSIZE_T_CLEAN
#include "shufflefs/ring.h"

#include <Python.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>
#include <time.h>

#define SLICE_MS	200
#define ATTACH_SLICE_MS 1000 /* enough for the handshake on a loaded host */

typedef struct lease lease_t;

typedef struct {
	PyObject_HEAD struct shufflefs_ring *ring;
	bool is_closed;
	lease_t *leases; /* that are not released */
} handle_t;

struct lease {
	PyObject_HEAD handle_t *handle;
	lease_t *next;
	unsigned long long seq, epoch, first, end, address, offset;
	unsigned int n_samples, sender;
	char is_released;
};

static PyObject *ring_error, *handle_type, *lease_type;

/* Raise RingError with this sentence; its `errno` is `code`. */
static PyObject *raise_ring_error(int code, const char *sentence)
{
	PyObject *error = PyObject_CallFunction(ring_error, "s", sentence);
	PyObject *number = PyLong_FromLong(code);

	if (error && number && PyObject_SetAttrString(error, "errno", number) == 0)
		PyErr_SetObject(ring_error, error);
	Py_XDECREF(error);
	Py_XDECREF(number);
	return NULL;
}

/* A wait that has an end, or none. */
struct wait {
	bool is_endless;
	int64_t end_ms;
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A converter for PyArg_Parse: seconds, or None. */
static int wait_from_seconds(PyObject *seconds, void *ret_wait)
{
	struct wait *wait = ret_wait;
	double s;

	if (seconds == Py_None) {
		wait->is_endless = true;
		return 1;
	}
	s = PyFloat_AsDouble(seconds);
	if (PyErr_Occurred())
		return 0;

	if (!(s >= 0)) {
		PyErr_SetString(PyExc_ValueError,
				"a timeout is a number of seconds, 0 or more, or None");
		return 0;
	}
	wait->is_endless = s > 1e9;
	wait->end_ms = wait->is_endless ? 0 : now_ms() + (int64_t)ceil(s * 1000);
	return 1;
}

/* How long to wait in this slice. */
static int slice_ms(const struct wait *wait, int most_ms)
{
	int64_t left = wait->is_endless ? most_ms : wait->end_ms - now_ms();

	return left < 0 ? 0 : left > most_ms ? most_ms : (int)left;
}

/* One attempt after the other, until one succeeds or fails, or the time is over.  Returns
 * as shufflefs_ring_attach(), or 1 if a handler of a signal has raised. */
static int attach(handle_t *handle, const char *path, const struct wait *wait)
{
	struct shufflefs_ring *ring = NULL;
	int ret, ms;

	for (;;) {
		ms = slice_ms(wait, ATTACH_SLICE_MS);
		Py_BEGIN_ALLOW_THREADS ret = shufflefs_ring_attach(path, ms, &ring);
		Py_END_ALLOW_THREADS handle->ring = ring;
		if (ret != -EINTR && (ret != -ETIMEDOUT || ms < ATTACH_SLICE_MS))
			return ret;

		if (PyErr_CheckSignals() < 0)
			return 1;

		shufflefs_ring_detach(ring);
		handle->ring = ring = NULL;
	}
}

static PyObject *raise_attach_error(const handle_t *handle, int ret)
{
	const char *sentence =
		handle->ring ? shufflefs_ring_error(handle->ring) : strerror(-ret);

	if (ret == -ETIMEDOUT)
		PyErr_SetString(PyExc_TimeoutError, sentence);
	else if (ret < 0)
		raise_ring_error(-ret, sentence);
	return NULL;
}

static PyObject *handle_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"path", "timeout", NULL};
	handle_t *handle = NULL;
	PyObject *path = NULL;
	struct wait wait;
	int ret;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O&", names,
					 PyUnicode_FSConverter, &path, wait_from_seconds,
					 &wait))
		return NULL;

	handle = (handle_t *)PyType_GenericAlloc(type, 0);
	if (handle) {
		ret = attach(handle, PyBytes_AsString(path), &wait);
		if (ret != 0) {
			raise_attach_error(handle, ret);
			Py_CLEAR(handle);
		}
	}
	Py_DECREF(path);
	return (PyObject *)handle;
}

static void handle_dealloc(PyObject *self)
{
	handle_t *handle = (handle_t *)self;
	PyTypeObject *type = Py_TYPE(self);

	shufflefs_ring_detach(handle->ring);
	PyObject_Free(self);
	Py_DECREF(type);
}

/* Give the batch back, once.  < 0: shufflefs_ring_error() says why not. */
static int give_back(lease_t *lease)
{
	handle_t *handle = lease->handle;
	lease_t **link;

	if (lease->is_released)
		return 0;

	lease->is_released = 1;
	for (link = &handle->leases; *link != lease;)
		link = &(*link)->next;
	*link = lease->next;
	return shufflefs_ring_release(handle->ring, lease->seq);
}

static PyObject *lease_release(PyObject *self, PyObject *unused)
{
	lease_t *lease = (lease_t *)self;
	int ret = give_back(lease);

	if (ret < 0)
		return raise_ring_error(-ret, shufflefs_ring_error(lease->handle->ring));
	Py_RETURN_NONE;
}

static void lease_dealloc(PyObject *self)
{
	lease_t *lease = (lease_t *)self;
	PyTypeObject *type = Py_TYPE(self);

	if (lease->handle) {
		give_back(lease);
		Py_DECREF(lease->handle);
	}
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *lease_new(handle_t *handle, const struct shufflefs_batch *batch)
{
	lease_t *lease = (lease_t *)PyType_GenericAlloc((PyTypeObject *)lease_type, 0);

	if (!lease) {
		shufflefs_ring_release(handle->ring, batch->seq);
		return NULL;
	}
	Py_INCREF(handle);
	lease->handle = handle;
	lease->next = handle->leases;
	handle->leases = lease;
	lease->seq = batch->seq;
	lease->epoch = batch->epoch;
	lease->first = batch->first;
	lease->end = batch->end;
	lease->n_samples = batch->n_samples;
	lease->sender = batch->sender;
	lease->address = (uintptr_t)batch->data;
	lease->offset = batch->offset;
	return (PyObject *)lease;
}

/* As shufflefs_ring_next(); 2 if an exception is set. */
static int take_next(handle_t *handle, const struct wait *wait,
		     struct shufflefs_batch *ret_batch)
{
	int ret, ms;

	do {
		if (handle->is_closed) {
			raise_ring_error(EBADF, "the ring was closed");
			return 2;
		}
		ms = slice_ms(wait, SLICE_MS);
		Py_BEGIN_ALLOW_THREADS ret =
			shufflefs_ring_next(handle->ring, ms, ret_batch);
		Py_END_ALLOW_THREADS if (ret == 1) return 1;
		if (PyErr_CheckSignals() < 0)
			return 2;
	} while (ret == -EINTR || (ret == -ETIMEDOUT && ms == SLICE_MS));
	return ret;
}

static PyObject *handle_next(PyObject *self, PyObject *timeout)
{
	handle_t *handle = (handle_t *)self;
	struct shufflefs_batch batch;
	struct wait wait;
	int ret;

	if (!wait_from_seconds(timeout, &wait))
		return NULL;

	ret = take_next(handle, &wait, &batch);
	if (ret == 1)
		return lease_new(handle, &batch);
	if (ret == 2)
		return NULL;
	if (ret == 0)
		Py_RETURN_NONE;
	if (ret == -ETIMEDOUT)
		return PyErr_Format(PyExc_TimeoutError, "no batch came within %S seconds",
				    timeout);
	return raise_ring_error(-ret, shufflefs_ring_error(handle->ring));
}

/* ("jpg", "u1", (256, 224, 224, 3), offset, row_bytes) */
static PyObject *describe_tensor(const struct shufflefs_tensor *tensor)
{
	PyObject *dims = PyTuple_New(tensor->rank);
	PyObject *dim;

	for (uint32_t i = 0; dims && i < tensor->rank; i++) {
		dim = PyLong_FromUnsignedLongLong(tensor->dims[i]);
		if (!dim || PyTuple_SetItem(dims, i, dim) < 0)
			Py_CLEAR(dims);
	}
	if (!dims)
		return NULL;
	return Py_BuildValue("(ssNKK)", tensor->name, tensor->dtype, dims,
			     (unsigned long long)tensor->offset,
			     (unsigned long long)tensor->row_bytes);
}

static PyObject *handle_layout(PyObject *self, PyObject *unused)
{
	const struct shufflefs_layout *layout =
		shufflefs_ring_layout(((handle_t *)self)->ring);
	PyObject *tensors = PyTuple_New(layout->n_tensors);
	PyObject *tensor;

	for (uint32_t i = 0; tensors && i < layout->n_tensors; i++) {
		tensor = describe_tensor(&layout->tensors[i]);
		if (!tensor || PyTuple_SetItem(tensors, i, tensor) < 0)
			Py_CLEAR(tensors);
	}
	return tensors;
}

static PyObject *handle_memory(PyObject *self, PyObject *unused)
{
	const struct shufflefs_memory *m =
		shufflefs_ring_memory(((handle_t *)self)->ring);

	return Py_BuildValue("(ssy#Ki)", m->kind, m->device, m->handle,
			     (Py_ssize_t)sizeof m->handle, (unsigned long long)m->n_bytes,
			     shufflefs_ring_memory_fd(((handle_t *)self)->ring));
}

static PyObject *handle_close(PyObject *self, PyObject *unused)
{
	handle_t *handle = (handle_t *)self;

	handle->is_closed = true;
	while (handle->leases)
		give_back(handle->leases);
	Py_RETURN_NONE;
}

static PyMethodDef handle_methods[] = {
	{"next", handle_next, METH_O,
	 "The next batch as a Lease; None: the end.  Waits for so many seconds; None: "
	 "for "
	 "ever."},
	{"layout", handle_layout, METH_NOARGS,
	 "A tuple (name, dtype, dims, offset, row_bytes) for each tensor."},
	{"memory", handle_memory, METH_NOARGS,
	 "Where the slots are: (kind, device, handle, n_bytes, fd)."},
	{"close", handle_close, METH_NOARGS, "Give all batches back."},
	{NULL},
};

static PyType_Slot handle_slots[] = {
	{Py_tp_new, handle_new},
	{Py_tp_dealloc, handle_dealloc},
	{Py_tp_methods, handle_methods},
	{0, NULL},
};

static PyType_Spec handle_spec = {"shufflefs._ring.Handle", sizeof(handle_t), 0,
				  Py_TPFLAGS_DEFAULT, handle_slots};

static PyMethodDef lease_methods[] = {
	{"release", lease_release, METH_NOARGS, "Give the batch back, once."},
	{NULL},
};

#define MEMBER(name, type)                                           \
	{                                                            \
#name, type, offsetof(lease_t, name), READONLY, NULL \
	}
static PyMemberDef lease_members[] = {
	MEMBER(seq, T_ULONGLONG),
	MEMBER(epoch, T_ULONGLONG),
	MEMBER(first, T_ULONGLONG),
	MEMBER(end, T_ULONGLONG),
	MEMBER(n_samples, T_UINT),
	MEMBER(sender, T_UINT),
	MEMBER(address, T_ULONGLONG),
	MEMBER(offset, T_ULONGLONG),
	MEMBER(is_released, T_BOOL),
	{NULL},
};

static PyObject *lease_refuse(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	PyErr_SetString(PyExc_TypeError, "batches come from Handle.next()");
	return NULL;
}

static PyType_Slot lease_slots[] = {
	{Py_tp_new, lease_refuse},
	{Py_tp_dealloc, lease_dealloc},
	{Py_tp_methods, lease_methods},
	{Py_tp_members, lease_members},
	{0, NULL},
};

static PyType_Spec lease_spec = {"shufflefs._ring.Lease", sizeof(lease_t), 0,
				 Py_TPFLAGS_DEFAULT, lease_slots};

/* DLPack, as its dlpack.h of version 0.x has it. */
#define DLPACK_DIMS_MAX SHUFFLEFS_DIMS_MAX

struct dl_tensor {
	void *data;
	int32_t device_type, device_id;
	int32_t n_dims;
	uint8_t code, bits;
	uint16_t n_lanes;
	int64_t *shape, *strides; /* no strides: C order */
	uint64_t byte_offset;
};

struct dl_managed_tensor {
	struct dl_tensor tensor;
	void *context;
	void (*deleter)(struct dl_managed_tensor *self);
};

struct managed {
	struct dl_managed_tensor public; /* first */
	int64_t shape[DLPACK_DIMS_MAX];
	PyObject *owner;
};

/* Of any thread, and even when the interpreter has ended: a library may let go of a tensor
 * as late as that.  Then there is nobody to give anything back to. */
static void delete_managed(struct dl_managed_tensor *tensor)
{
	struct managed *m = (struct managed *)tensor;
	PyGILState_STATE state;

	if (!Py_IsInitialized())
		return;
	state = PyGILState_Ensure();
	Py_DECREF(m->owner);
	PyMem_Free(m);
	PyGILState_Release(state);
}

/* Nobody has taken the tensor out of the capsule (who does renames it). */
static void delete_capsule(PyObject *capsule)
{
	if (PyCapsule_IsValid(capsule, "dltensor"))
		delete_managed(PyCapsule_GetPointer(capsule, "dltensor"));
}

static bool take_shape(struct managed *m, PyObject *shape)
{
	Py_ssize_t i, n = PyTuple_Size(shape);

	if (n < 0 || n > DLPACK_DIMS_MAX) {
		PyErr_SetString(PyExc_ValueError, "a shape is a tuple of at most 8");
		return false;
	}
	for (i = 0; i < n; i++) {
		m->shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
		if (PyErr_Occurred())
			return false;
	}
	m->public.tensor.shape = m->shape;
	m->public.tensor.n_dims = (int32_t)n;
	return true;
}

static PyObject *make_dlpack(PyObject *module, PyObject *args)
{
	struct managed *m = PyMem_Calloc(1, sizeof *m);
	struct dl_tensor *t = &m->public.tensor;
	PyObject *shape, *owner, *capsule;
	unsigned long long address;

	if (!m)
		return PyErr_NoMemory();
	t->n_lanes = 1;
	if (!PyArg_ParseTuple(args, "KiibbO!O", &address, &t->device_type, &t->device_id,
			      &t->code, &t->bits, &PyTuple_Type, &shape, &owner) ||
	    !take_shape(m, shape)) {
		PyMem_Free(m);
		return NULL;
	}
	t->data = (void *)(uintptr_t)address;
	m->public.deleter = delete_managed;
	Py_INCREF(owner);
	m->owner = owner;
	capsule = PyCapsule_New(m, "dltensor", delete_capsule);
	if (!capsule)
		delete_managed(&m->public);
	return capsule;
}

static PyMethodDef module_methods[] = {
	{"dlpack", make_dlpack, METH_VARARGS,
	 "A capsule of memory that `owner` keeps: dlpack(address, device_type, device_id, "
	 "type_code, type_bits, shape, owner)."},
	{NULL},
};

static struct PyModuleDef module_def = {
	PyModuleDef_HEAD_INIT,
	"shufflefs._ring",
	NULL,
	-1,
	module_methods,
};

/* PyModule_AddObject() takes a reference, on success only. */
static bool has_added(PyObject *module, const char *name, PyObject *object)
{
	Py_XINCREF(object);
	if (object && PyModule_AddObject(module, name, object) == 0)
		return true;
	Py_XDECREF(object);
	return false;
}

PyMODINIT_FUNC PyInit__ring(void)
{
	PyObject *module = PyModule_Create(&module_def);

	if (!module)
		return NULL;
	ring_error = PyErr_NewExceptionWithDoc("shufflefs.RingError",
					       "The producer died or failed, or a batch "
					       "is no longer ours.  `errno` is a "
					       "number of the module errno.",
					       PyExc_RuntimeError, NULL);
	handle_type = PyType_FromSpec(&handle_spec);
	lease_type = PyType_FromSpec(&lease_spec);
	if (has_added(module, "RingError", ring_error) &&
	    has_added(module, "Handle", handle_type) &&
	    has_added(module, "Lease", lease_type))
		return module;
	Py_DECREF(module);
	return NULL;
}
