/* SPDX-License-Identifier: MIT */
/* How this works.  The slots are one allocation, which trainers get in one of two ways:
 *
 *	cuda	 cudaMalloc, rounded up to 2 MiB so that its IPC handle shows nothing else
 *	cuda-fd	 virtual memory (cuMemCreate), exported as a descriptor
 *
 * Their staging slots are registered before the first copy, so that cudaMemcpyAsync() is
 * a DMA; all copies go through one stream, and an event per slot tells when its copy has
 * ended.  After that any process that has opened the memory sees the bytes.
 *
 * A network card may write into the slots, too.  Its completion does not mean that the
 * GPU sees the bytes.  The device tells: it orders such writes itself; or a call flushes
 * them, which is then made for each batch; or neither, and then no card may write.  Nor
 * may one where the GPU is coherent with the host (NVLink-C2C): there the device claims
 * to order them, but writes over PCIe take another way (NCCL reads a word back by RDMA
 * there; we do not).
 *
 * The device is current for a thread, not for the process: whoever calls chooses it.
 *
 * Only the CUDA runtime is linked: it opens the driver itself, and says so if there is
 * none.  The functions of the driver that are needed are asked for by name.  C, and no
 * kernels: nvcc is not needed.  Compiles with CUDA 11.8 to 13. */
#include "ring/device.h"

#include "base/alloc.h"
#include "base/strbuf.h"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRAIN (2ULL << 20)

struct sfs_device {
	struct sfs_device_settings settings;
	struct sfs_device_info info;
	int number; /* in this process; < 0: not found */
	unsigned char *memory;
	bool is_mapped;	    /* it is virtual memory */
	bool is_registered; /* the staging slots */
	cudaStream_t stream;
	cudaEvent_t *events; /* one a slot; NULL: not made */
};

static int fail(struct sfs_error *err, cudaError_t error, const char *what)
{
	return sfs_error_set(err, -EIO, "CUDA: %s: %s", what, cudaGetErrorString(error));
}

static int fail_driver(struct sfs_error *err, CUresult error, const char *what)
{
	return sfs_error_set(err, -EIO, "CUDA: %s: the driver's error %d", what,
			     (int)error);
}

/* A function of the driver, as it was in `version` of CUDA; NULL: it has none. */
static void *find_in_driver(const char *name, unsigned int version)
{
	enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
	void *function = NULL;
	cudaError_t error;

#if CUDART_VERSION >= 12050
	error = cudaGetDriverEntryPointByVersion(name, &function, version,
						 cudaEnableDefault, &result);
#elif CUDART_VERSION >= 12000
	error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &result);
#else
	error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault);
	result = cudaDriverEntryPointSuccess;
#endif
	if (error != cudaSuccess || result != cudaDriverEntryPointSuccess)
		return NULL;
	return function;
}

/* Devices. */

static void write_uuid(const struct cudaDeviceProp *p, char ret[48])
{
	const unsigned char *u = (const unsigned char *)p->uuid.bytes;

	snprintf(ret, 48,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11],
		 u[12], u[13], u[14], u[15]);
}

static int count_devices(int *ret_n, struct sfs_error *err)
{
	int n = 0, runtime = 0, driver = 0;
	cudaError_t error = cudaGetDeviceCount(&n);

	cudaRuntimeGetVersion(&runtime);
	cudaDriverGetVersion(&driver);
	if (error != cudaSuccess && driver == 0)
		return sfs_error_set(
			err, -ENODEV,
			"this host has no CUDA driver (libcuda.so.1): install "
			"NVIDIA's driver, or run the container with its GPUs");
	if (error == cudaErrorInsufficientDriver)
		return sfs_error_set(err, -ENODEV,
				     "the CUDA driver is for CUDA %d.%d, older than the "
				     "runtime's %d.%d: install a newer driver",
				     driver / 1000, driver % 1000 / 10, runtime / 1000,
				     runtime % 1000 / 10);
	if (error == cudaErrorNoDevice || (error == cudaSuccess && n == 0))
		return sfs_error_set(err, -ENODEV,
				     "CUDA sees no GPU; is CUDA_VISIBLE_DEVICES empty?");
	if (error != cudaSuccess)
		return fail(err, error, "cannot count GPUs");
	*ret_n = n;
	return 0;
}

/* "0", "1", ..., or a UUID with or without its "GPU-". */
static bool is_device(const char *which, int number, const char *uuid)
{
	char *end;
	long n = strtol(which, &end, 10);

	if (!*which)
		return number == 0;
	return (!*end && n == number) || strcasecmp(which, uuid) == 0 ||
	       strcasecmp(which, uuid + strlen("GPU-")) == 0;
}

static int find_device(struct sfs_device *d, struct sfs_error *err)
{
	struct sfs_strbuf there = {0};
	struct cudaDeviceProp p;
	int n = 0, i, ret = count_devices(&n, err);

	for (i = 0; ret == 0 && i < n; i++) {
		cudaError_t error = cudaGetDeviceProperties(&p, i);

		if (error != cudaSuccess) {
			ret = fail(err, error, "cannot read a GPU's properties");
			break;
		}
		write_uuid(&p, d->info.memory.device);
		if (is_device(d->settings.which, i, d->info.memory.device)) {
			d->number = i;
			snprintf(d->info.name, sizeof d->info.name, "%.*s",
				 (int)sizeof d->info.name - 1, p.name);
			break;
		}
		sfs_strbuf_printf(&there, " %d (%s)", i, d->info.memory.device);
	}
	if (ret == 0 && i == n)
		ret = sfs_error_set(err, -ENODEV, "there is no GPU '%s'; choose one of%s",
				    d->settings.which, there.s);
	sfs_strbuf_done(&there);
	return ret;
}

/* Writes of network cards. */

static int ask(const struct sfs_device *d, enum cudaDeviceAttr attribute)
{
	int value = 0;

	if (cudaDeviceGetAttribute(&value, attribute, d->number) == cudaSuccess)
		return value;
	cudaGetLastError(); /* (it does not know the attribute) */
	return 0;
}

static void look_at_direct(struct sfs_device *d)
{
	int has = ask(d, cudaDevAttrGPUDirectRDMASupported),
	    ordering = ask(d, cudaDevAttrGPUDirectRDMAWritesOrdering),
	    options = ask(d, cudaDevAttrGPUDirectRDMAFlushWritesOptions);
	bool is_coherent = ask(d, cudaDevAttrPageableMemoryAccessUsesHostPageTables);
	bool is_ordered = ordering >= cudaGPUDirectRDMAWritesOrderingOwner,
	     has_flush = options & cudaFlushGPUDirectRDMAWritesOptionHost;

	d->info.needs_flush = !is_ordered;
	d->info.has_direct = !is_coherent && (is_ordered || has_flush);
	snprintf(d->info.direct, sizeof d->info.direct,
		 "%s (GPUDirect RDMA: %d, writes ordering: %d, flush options: %d%s)",
		 is_coherent  ? "CUDA cannot show what a card writes over PCIe"
		 : is_ordered ? "ordered"
		 : has_flush  ? "flushed"
			      : "the GPU cannot show what a card writes",
		 has, ordering, options, is_coherent ? ", NVLink-C2C" : "");
}

/* Memory. */

static int set_full_error(const struct sfs_device *d, uint64_t n, struct sfs_error *err)
{
	size_t n_free = 0, n_all = 0;

	cudaMemGetInfo(&n_free, &n_all);
	return sfs_error_set(err, -ENOMEM,
			     "GPU %s: the ring needs %llu MB, %llu of %llu are free; use "
			     "fewer --slots or a smaller --batch",
			     d->info.memory.device, (unsigned long long)n / 1000000,
			     (unsigned long long)n_free / 1000000,
			     (unsigned long long)n_all / 1000000);
}

static int allocate_plain(struct sfs_device *d, uint64_t n, struct sfs_error *err)
{
	void *memory = NULL;
	cudaError_t error;

	n = (n + GRAIN - 1) / GRAIN * GRAIN;
	error = cudaMalloc(&memory, n);
	if (error == cudaErrorMemoryAllocation)
		return set_full_error(d, n, err);
	if (error != cudaSuccess)
		return fail(err, error, "no memory for the ring");
	d->memory = memory;
	d->info.memory.n_bytes = n;
	return 0;
}

/* Virtual memory. */

static struct {
	PFN_cuMemGetAllocationGranularity_v10020 get_grain;
	PFN_cuMemCreate_v10020 create;
	PFN_cuMemRelease_v10020 release;
	PFN_cuMemExportToShareableHandle_v10020 export_handle;
	PFN_cuMemAddressReserve_v10020 reserve;
	PFN_cuMemAddressFree_v10020 unreserve;
	PFN_cuMemMap_v10020 map;
	PFN_cuMemUnmap_v10020 unmap;
	PFN_cuMemSetAccess_v10020 set_access;
} driver;

static int find_driver(struct sfs_error *err)
{
	static const struct {
		const char *name;
		void *function;
	} functions[] = {{"cuMemGetAllocationGranularity", &driver.get_grain},
			 {"cuMemCreate", &driver.create},
			 {"cuMemRelease", &driver.release},
			 {"cuMemExportToShareableHandle", &driver.export_handle},
			 {"cuMemAddressReserve", &driver.reserve},
			 {"cuMemAddressFree", &driver.unreserve},
			 {"cuMemMap", &driver.map},
			 {"cuMemUnmap", &driver.unmap},
			 {"cuMemSetAccess", &driver.set_access}};
	void *found;
	size_t i;

	for (i = 0; i < SFS_COUNT(functions); i++) {
		found = find_in_driver(functions[i].name, 10020);
		if (!found)
			return sfs_error_set(err, -EOPNOTSUPP,
					     "the CUDA driver has no %s(), which cuda-fd "
					     "needs: use memory cuda",
					     functions[i].name);
		memcpy(functions[i].function, &found, sizeof found);
	}
	return 0;
}

/* Rounds *n up. */
static CUresult create_as(const CUmemAllocationProp *prop, uint64_t *n,
			  CUmemGenericAllocationHandle *ret)
{
	size_t grain = GRAIN;
	CUresult error =
		driver.get_grain(&grain, prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);

	if (error != CUDA_SUCCESS)
		return error;
	*n = (*n + grain - 1) / grain * grain;
	return driver.create(ret, *n, prop, 0);
}

/* Of memory that a card may write to, if there is such on this device. */
static CUresult create(struct sfs_device *d, uint64_t *n,
		       CUmemGenericAllocationHandle *ret)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes =
					    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
						 .id = d->number},
				    .allocFlags = {.gpuDirectRDMACapable = 1}};
	CUresult error = create_as(&prop, n, ret);

	if (error == CUDA_SUCCESS || error == CUDA_ERROR_OUT_OF_MEMORY)
		return error;
	d->info.has_direct = false;
	snprintf(d->info.direct, sizeof d->info.direct,
		 "the GPU has no virtual memory that cards may write to (CUDA error %d)",
		 (int)error);
	prop.allocFlags.gpuDirectRDMACapable = 0;
	return create_as(&prop, n, ret);
}

static CUresult map(struct sfs_device *d, CUmemGenericAllocationHandle handle)
{
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
					       .id = d->number},
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	uint64_t n = d->info.memory.n_bytes;
	CUdeviceptr at = 0;
	CUresult error = driver.reserve(&at, n, 0, 0, 0);

	if (error != CUDA_SUCCESS)
		return error;
	error = driver.map(at, n, 0, handle, 0);
	if (error != CUDA_SUCCESS) {
		driver.unreserve(at, n);
		return error;
	}
	d->memory = (unsigned char *)(uintptr_t)at;
	d->is_mapped = true;
	return driver.set_access(at, n, &access, 1);
}

static void unmap(struct sfs_device *d)
{
	driver.unmap((uintptr_t)d->memory, d->info.memory.n_bytes);
	driver.unreserve((uintptr_t)d->memory, d->info.memory.n_bytes);
}

/* The mapping and the descriptor keep it, each by itself. */
static int allocate_virtual(struct sfs_device *d, uint64_t n, struct sfs_error *err)
{
	CUmemGenericAllocationHandle handle;
	cudaError_t context = cudaFree(NULL); /* the driver needs a context */
	int ret = find_driver(err), fd = -1;
	CUresult error;

	if (ret < 0)
		return ret;
	if (context != cudaSuccess)
		return fail(err, context, "cannot use the GPU");
	error = create(d, &n, &handle);
	if (error == CUDA_ERROR_OUT_OF_MEMORY)
		return set_full_error(d, n, err);
	if (error != CUDA_SUCCESS)
		return fail_driver(err, error, "no memory for the ring");
	d->info.memory.n_bytes = n;
	error = driver.export_handle(&fd, handle,
				     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	if (error == CUDA_SUCCESS) {
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		d->info.fd = fd;
		error = map(d, handle);
	}
	driver.release(handle);
	return error == CUDA_SUCCESS
		       ? 0
		       : fail_driver(err, error, "the ring's memory (cuda-fd)");
}

static int allocate(struct sfs_device *d, struct sfs_error *err)
{
	uint64_t n = d->settings.n_slots * d->settings.slot_stride;
	int ret = d->settings.has_fd ? allocate_virtual(d, n, err)
				     : allocate_plain(d, n, err);
	cudaError_t error;

	if (ret < 0)
		return ret;
	d->info.address = (uintptr_t)d->memory;
	error = cudaMemset(d->memory, 0, d->info.memory.n_bytes);
	if (error == cudaSuccess) /* the stream and cards do not wait for it */
		error = cudaDeviceSynchronize();
	return error == cudaSuccess ? 0 : fail(err, error, "the ring's memory");
}

static int share(struct sfs_device *d, struct sfs_error *err)
{
	cudaIpcMemHandle_t handle;
	cudaError_t error;

	_Static_assert(sizeof handle == sizeof d->info.memory.handle, "it fits");
	strcpy(d->info.memory.kind, d->settings.has_fd ? "cuda-fd" : "cuda");
	if (d->settings.has_fd)
		return 0;
	error = cudaIpcGetMemHandle(&handle, d->memory);
	if (error != cudaSuccess)
		return fail(err, error,
			    "cannot share the ring's memory with other processes");
	memcpy(d->info.memory.handle, &handle, sizeof handle);
	return 0;
}

static int cuda_stage(struct sfs_device *d, struct sfs_error *err)
{
	uint64_t n = d->settings.n_slots * d->settings.slot_stride;
	cudaError_t error = cudaSetDevice(d->number);
	uint32_t i;

	if (error != cudaSuccess)
		return fail(err, error, "cannot use the GPU");
	error = cudaHostRegister(d->settings.staging, n, cudaHostRegisterPortable);
	if (error != cudaSuccess)
		return fail(err, error,
			    "cannot pin the staging slots (ulimit -l?)");
	d->is_registered = true;
	error = cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking);
	d->events = sfs_calloc(d->settings.n_slots, sizeof *d->events);
	for (i = 0; error == cudaSuccess && i < d->settings.n_slots; i++)
		error = cudaEventCreateWithFlags(&d->events[i],
						 cudaEventDisableTiming |
							 cudaEventBlockingSync);
	return error == cudaSuccess ? 0 : fail(err, error,
					       "cannot create a stream and its events");
}

static void cuda_close(struct sfs_device *d)
{
	uint32_t i;

	if (d->number >= 0)
		cudaSetDevice(d->number);
	if (d->stream)
		cudaStreamSynchronize(d->stream);
	for (i = 0; d->events && i < d->settings.n_slots; i++)
		if (d->events[i])
			cudaEventDestroy(d->events[i]);
	if (d->stream)
		cudaStreamDestroy(d->stream);
	if (d->is_registered)
		cudaHostUnregister(d->settings.staging);
	if (d->is_mapped)
		unmap(d);
	else if (d->memory)
		cudaFree(d->memory);
	if (d->info.fd >= 0)
		close(d->info.fd);
	free(d->events);
	free(d);
}

static int cuda_open(const struct sfs_device_settings *settings, struct sfs_device **ret,
		     struct sfs_error *err)
{
	struct sfs_device *d = sfs_calloc(1, sizeof *d);
	cudaError_t error;
	int code;

	d->settings = *settings;
	d->number = d->info.fd = -1;
	code = find_device(d, err);
	if (code == 0) {
		error = cudaSetDevice(d->number);
		if (error != cudaSuccess)
			code = fail(err, error, "cannot use the GPU");
	}
	if (code == 0) {
		look_at_direct(d);
		code = allocate(d, err);
	}
	if (code == 0)
		code = share(d, err);
	if (code < 0) {
		cuda_close(d);
		return code;
	}
	d->settings.which = NULL; /* (it was the caller's) */
	*ret = d;
	return 0;
}

static int cuda_locate(const char *which, char ret_bus[SFS_DEVICE_BUS_MAX],
		       struct sfs_error *err)
{
	struct sfs_device d = {.settings.which = which};
	int ret = find_device(&d, err);
	cudaError_t error;

	if (ret < 0)
		return ret;
	error = cudaDeviceGetPCIBusId(ret_bus, SFS_DEVICE_BUS_MAX, d.number);
	return error == cudaSuccess ? 0 : fail(err, error, "cannot find the GPU on PCI");
}

static void cuda_describe(const struct sfs_device *d, struct sfs_device_info *ret)
{
	*ret = d->info;
}

/* Copies. */

static int cuda_copy(struct sfs_device *d, uint32_t slot, uint64_t n_bytes,
		     struct sfs_error *err)
{
	uint64_t at = slot * d->settings.slot_stride;
	cudaError_t error = cudaSetDevice(d->number);

	if (error == cudaSuccess)
		error = cudaMemcpyAsync(d->memory + at,
					(unsigned char *)d->settings.staging + at,
					n_bytes, cudaMemcpyHostToDevice, d->stream);
	if (error == cudaSuccess)
		error = cudaEventRecord(d->events[slot], d->stream);
	return error == cudaSuccess ? 0 : fail(err, error, "cannot copy to the GPU");
}

static int cuda_wait(struct sfs_device *d, uint32_t slot, struct sfs_error *err)
{
	cudaError_t error = cudaSetDevice(d->number);

	if (error == cudaSuccess)
		error = cudaEventSynchronize(d->events[slot]);
	return error == cudaSuccess ? 0 : fail(err, error, "cannot copy to the GPU");
}

static int cuda_flush(struct sfs_device *d, uint32_t slot, struct sfs_error *err)
{
	cudaError_t error;

	if (!d->info.needs_flush)
		return 0;
	error = cudaSetDevice(d->number);
	if (error == cudaSuccess) /* (trainers have contexts of their own) */
		error = cudaDeviceFlushGPUDirectRDMAWrites(
			cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
			cudaFlushGPUDirectRDMAWritesToAllDevices);
	return error == cudaSuccess ? 0 : fail(err, error,
					       "cannot flush a card's writes");
}

static int cuda_read(struct sfs_device *d, uint32_t slot, uint64_t n_bytes,
		     struct sfs_error *err)
{
	uint64_t at = slot * d->settings.slot_stride;
	cudaError_t error = cudaSetDevice(d->number);

	if (error == cudaSuccess)
		error = cudaMemcpy((unsigned char *)d->settings.staging + at,
				   d->memory + at, n_bytes, cudaMemcpyDeviceToHost);
	return error == cudaSuccess ? 0 : fail(err, error, "cannot copy from the GPU");
}

static int cuda_export_dma_buf(struct sfs_device *d, uint64_t offset, uint64_t n_bytes,
			       int *ret_fd, struct sfs_error *err)
{
	PFN_cuMemGetHandleForAddressRange_v11070 get_range_handle;
	cudaError_t error = cudaSetDevice(d->number);
	int code, fd = -1;

	if (error != cudaSuccess)
		return fail(err, error, "cannot use the GPU");
	get_range_handle = (PFN_cuMemGetHandleForAddressRange_v11070)
		find_in_driver("cuMemGetHandleForAddressRange", 11070);
	if (!get_range_handle)
		return sfs_error_set(err, -EOPNOTSUPP,
				     "the CUDA driver is too old for dma-bufs (11.7)");
	code = (int)get_range_handle(&fd, (uintptr_t)d->memory + offset, n_bytes,
				     CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
	if (code != 0)
		return sfs_error_set(
			err, -EOPNOTSUPP,
			"GPU %s: the driver gives no dma-buf (CUDA error %d): "
			"that needs NVIDIA's open kernel modules",
			d->info.memory.device, code);
	*ret_fd = fd;
	return 0;
}

const struct sfs_device_ops sfs_device_plugin = {
	.version = SFS_DEVICE_VERSION,
	.kind = "cuda",
	.locate = cuda_locate,
	.open = cuda_open,
	.describe = cuda_describe,
	.stage = cuda_stage,
	.copy = cuda_copy,
	.wait = cuda_wait,
	.flush = cuda_flush,
	.read = cuda_read,
	.export_dma_buf = cuda_export_dma_buf,
	.close = cuda_close,
};
