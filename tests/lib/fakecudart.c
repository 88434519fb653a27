/* SPDX-License-Identifier: MIT */
/* fakecudart - as much of the CUDA runtime as rdma/cuda-plugin.c and
 * python/shufflefs/cuda.py call, on memory of the host, so that both run without a GPU.
 *
 * There are two devices, whose UUIDs end in 00 and 01.  An allocation is a memfd, and its
 * IPC handle is that memfd's path.  A copy only happens when its event, its stream or the
 * device is waited for.  FAKECUDA_BYTES: how much memory a device has.
 *
 * FAKECUDA_ORDERING and FAKECUDA_FLUSHES are the attributes that tell of a network card's
 * writes: 100 and 0 if unset; FAKECUDA_COHERENT=1: it is coherent with the host.  Each
 * flush is a byte more of the file
 * $FAKECUDA_FLUSHED, if that is set.
 *
 * Of the driver there are the functions of virtual memory (cuMemCreate and so on): an
 * allocation is a memfd, and so is the descriptor that it is exported as.  It can only be
 * touched where access was allowed.  FAKECUDA_NO_VIRTUAL=1: there are none, =2: there is
 * no memory that cards may write to. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum {
	SUCCESS = 0,
	INVALID = 1,
	NO_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NOT_SUPPORTED = 801
};

struct ipc_handle {
	char path[64];
};

static _Thread_local int current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Copies that were begun. */
static struct copy {
	void *to;
	const void *from;
	size_t n;
} copies[256];
static uint64_t n_begun, n_done;

static struct memory {
	void *at;
	size_t n;
	int fd;
} memories[64];

static uint64_t n_bytes_in_all(void)
{
	const char *text = getenv("FAKECUDA_BYTES");

	return text ? strtoull(text, NULL, 10) : 1ULL << 40;
}

static int number_in(const char *variable, int otherwise)
{
	const char *text = getenv(variable);

	return text ? atoi(text) : otherwise;
}

static void finish_until(uint64_t n)
{
	pthread_mutex_lock(&lock);
	for (; n_done < n; n_done++) {
		struct copy *c = &copies[n_done % 256];

		memcpy(c->to, c->from, c->n);
	}
	pthread_mutex_unlock(&lock);
}

/* CUDA that was used before fork() can not be used in the child. */
static int check_process(void)
{
	static _Atomic pid_t user;
	pid_t nobody = 0;

	atomic_compare_exchange_strong(&user, &nobody, getpid());
	return user == getpid() ? SUCCESS : NOT_INITIALIZED;
}

API int cudaGetDeviceCount(int *n)
{
	*n = 2;
	return check_process();
}

API int cudaRuntimeGetVersion(int *version)
{
	*version = 13000;
	return SUCCESS;
}

API int cudaDriverGetVersion(int *version)
{
	*version = 13000;
	return SUCCESS;
}

API int cudaGetDeviceProperties(void *properties, int number)
{
	memset(properties, 0, 272); /* name and UUID come first */
	snprintf(properties, 256, "Fake %d", number);
	((char *)properties)[271] = (char)number;
	return SUCCESS;
}

API int cudaGetDeviceProperties_v2(void *properties, int number)
{
	return cudaGetDeviceProperties(properties, number);
}

API int cudaDeviceGetAttribute(int *value, int attribute, int number)
{
	switch (attribute) {
	case 116: *value = 1; return SUCCESS; /* GPUDirect RDMA */
	case 117: *value = number_in("FAKECUDA_FLUSHES", 0); return SUCCESS;
	case 118: *value = number_in("FAKECUDA_ORDERING", 100); return SUCCESS;
	case 100: *value = number_in("FAKECUDA_COHERENT", 0); return SUCCESS;
	}
	return INVALID;
}

API int cudaDeviceFlushGPUDirectRDMAWrites(int target, int scope)
{
	const char *path = getenv("FAKECUDA_FLUSHED");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (target != 0 || scope != 200 || !(number_in("FAKECUDA_FLUSHES", 0) & 1))
		return NOT_SUPPORTED;
	if (fd < 0)
		return SUCCESS;
	if (write(fd, "f", 1) != 1)
		abort();
	close(fd);
	return SUCCESS;
}

API int cudaDeviceGetPCIBusId(char *bus, int n, int number)
{
	snprintf(bus, (size_t)n, "0000:3%c:00.0", 'B' + number); /* in upper case */
	return SUCCESS;
}

API int cudaSetDevice(int number)
{
	if (number < 0 || number > 1)
		return INVALID;
	current = number;
	return check_process();
}

API int cudaGetDevice(int *number)
{
	*number = current;
	return check_process();
}

API int cudaGetLastError(void)
{
	return SUCCESS;
}

API const char *cudaGetErrorString(int error)
{
	return error == NO_MEMORY	  ? "out of memory"
	       : error == NOT_INITIALIZED ? "initialization error"
					  : "invalid argument";
}

API int cudaMalloc(void **at, size_t n)
{
	struct memory *m = memories;

	if (n > n_bytes_in_all())
		return NO_MEMORY;
	while (m->at)
		m++;
	m->fd = memfd_create("fakecudart", MFD_CLOEXEC);
	if (ftruncate(m->fd, (off_t)n) < 0)
		return NO_MEMORY;
	m->n = n;
	*at = m->at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	return SUCCESS;
}

static struct memory *find(const void *at)
{
	int i;

	for (i = 0; i < 64; i++)
		if (memories[i].at == at)
			return &memories[i];
	return NULL;
}

API int cudaFree(void *at)
{
	struct memory *m = find(at);

	if (!at)
		return SUCCESS;
	munmap(m->at, m->n);
	close(m->fd);
	m->at = NULL;
	return SUCCESS;
}

API int cudaMemGetInfo(size_t *n_free, size_t *n_all)
{
	*n_free = *n_all = n_bytes_in_all();
	return SUCCESS;
}

API int cudaMemset(void *at, int byte, size_t n)
{
	memset(at, byte, n);
	return SUCCESS;
}

API int cudaIpcGetMemHandle(struct ipc_handle *ret, void *at)
{
	snprintf(ret->path, sizeof ret->path, "/proc/%d/fd/%d", (int)getpid(),
		 find(at)->fd);
	return SUCCESS;
}

/* Without the flag for lazy peer access, as little as CUDA does. */
API int cudaIpcOpenMemHandle(void **ret, struct ipc_handle handle, unsigned int flags)
{
	struct memory *m = memories;
	int fd = open(handle.path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || flags != 1)
		return INVALID;
	while (m->at)
		m++;
	m->fd = fd;
	m->n = (size_t)lseek(fd, 0, SEEK_END);
	*ret = m->at = mmap(NULL, m->n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return SUCCESS;
}

API int cudaIpcCloseMemHandle(void *at)
{
	return cudaFree(at);
}

API int cudaHostRegister(void *at, size_t n, unsigned int flags)
{
	return (uintptr_t)at % 4096 ? INVALID : SUCCESS;
}

API int cudaHostUnregister(void *at)
{
	return SUCCESS;
}

API int cudaStreamCreateWithFlags(void **stream, unsigned int flags)
{
	*stream = &copies;
	return SUCCESS;
}

API int cudaStreamDestroy(void *stream)
{
	return SUCCESS;
}

API int cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, void *stream)
{
	pthread_mutex_lock(&lock);
	copies[n_begun++ % 256] = (struct copy){to, from, n};
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

/* An event is how many copies were begun when it was recorded. */
API int cudaEventCreateWithFlags(uint64_t **event, unsigned int flags)
{
	*event = calloc(1, sizeof **event);
	return SUCCESS;
}

API int cudaEventDestroy(uint64_t *event)
{
	free(event);
	return SUCCESS;
}

/* CUDA may crash, too, if the stream was destroyed. */
API int cudaEventRecord(uint64_t *event, void *stream)
{
	if (stream != &copies && (uintptr_t)stream > 2)
		abort();
	pthread_mutex_lock(&lock);
	*event = n_begun;
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

API int cudaEventSynchronize(const uint64_t *event)
{
	finish_until(*event);
	return SUCCESS;
}

API int cudaStreamSynchronize(void *stream)
{
	finish_until(n_begun);
	return SUCCESS;
}

API int cudaDeviceSynchronize(void)
{
	finish_until(n_begun);
	return SUCCESS;
}

API int cudaMemcpy(void *to, const void *from, size_t n, int kind)
{
	memcpy(to, from, n);
	return SUCCESS;
}

/* The driver. */

struct location {
	int type, id;
};

struct allocation_prop {
	int type, handle_types;
	struct location location;
	void *win32;
	unsigned char compression, is_for_cards;
	unsigned char unused[6];
};

struct access_desc {
	struct location location;
	int flags;
};

static int is_sane(const struct allocation_prop *p)
{
	return p->type == 1 && p->handle_types == 1 && p->location.type == 1 &&
	       p->location.id == current && !p->win32;
}

static int get_granularity(size_t *ret, const struct allocation_prop *p, int option)
{
	*ret = 2 << 20;
	return is_sane(p) ? SUCCESS : INVALID;
}

static int create(uint64_t *ret, size_t n, const struct allocation_prop *p,
		  unsigned long long flags)
{
	int fd;

	if (p->is_for_cards && number_in("FAKECUDA_NO_VIRTUAL", 0) == 2)
		return NOT_SUPPORTED;
	if (!is_sane(p) || n % (2 << 20))
		return INVALID;
	if (n > n_bytes_in_all())
		return NO_MEMORY;
	fd = memfd_create("fakecudart", MFD_CLOEXEC);
	if (ftruncate(fd, (off_t)n) < 0)
		return NO_MEMORY;
	*ret = (uint64_t)fd;
	return SUCCESS;
}

static int release(uint64_t handle)
{
	return close((int)handle) == 0 ? SUCCESS : INVALID;
}

static int export_handle(int *ret, uint64_t handle, int type, unsigned long long flags)
{
	*ret = dup((int)handle);
	return type == 1 && *ret >= 0 ? SUCCESS : INVALID;
}

static int import_handle(uint64_t *ret, void *fd, int type)
{
	int mine = dup((int)(intptr_t)fd);

	*ret = (uint64_t)mine;
	return type == 1 && mine >= 0 ? SUCCESS : INVALID;
}

static int reserve(uint64_t *ret, size_t n, size_t alignment, uint64_t at,
		   unsigned long long flags)
{
	*ret = (uintptr_t)mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return SUCCESS;
}

static int unreserve(uint64_t at, size_t n)
{
	return munmap((void *)at, n) == 0 ? SUCCESS : INVALID;
}

static int map(uint64_t at, size_t n, size_t offset, uint64_t handle,
	       unsigned long long flags)
{
	void *there = mmap((void *)at, n, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)handle,
			   (off_t)offset);

	return there == MAP_FAILED ? INVALID : SUCCESS;
}

static int unmap(uint64_t at, size_t n)
{
	void *there = mmap((void *)at, n, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	return there == MAP_FAILED ? INVALID : SUCCESS;
}

static int set_access(uint64_t at, size_t n, const struct access_desc *a, size_t n_descs)
{
	if (n_descs != 1 || a->location.type != 1 || a->location.id != current ||
	    a->flags != 3)
		return INVALID;
	return mprotect((void *)at, n, PROT_READ | PROT_WRITE) == 0 ? SUCCESS : INVALID;
}

static const struct {
	const char *name;
	void *function;
} driver[] = {{"cuMemGetAllocationGranularity", get_granularity},
	      {"cuMemCreate", create},
	      {"cuMemRelease", release},
	      {"cuMemExportToShareableHandle", export_handle},
	      {"cuMemImportFromShareableHandle", import_handle},
	      {"cuMemAddressReserve", reserve},
	      {"cuMemAddressFree", unreserve},
	      {"cuMemMap", map},
	      {"cuMemUnmap", unmap},
	      {"cuMemSetAccess", set_access}};

API int cudaGetDriverEntryPoint(const char *symbol, void **function,
				unsigned long long flags, int *result)
{
	size_t i;

	for (i = 0; i < sizeof driver / sizeof driver[0]; i++)
		if (strcmp(driver[i].name, symbol) == 0 &&
		    number_in("FAKECUDA_NO_VIRTUAL", 0) != 1) {
			*function = driver[i].function;
			*result = 0;
			return SUCCESS;
		}
	return NOT_SUPPORTED;
}

API int cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
					 unsigned int version, unsigned long long flags,
					 int *result)
{
	return cudaGetDriverEntryPoint(symbol, function, flags, result);
}
