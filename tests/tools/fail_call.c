/* Preloaded into a program: makes one of its calls on files fail, the n-th,
 * with EIO. FAIL_CALL is n, from 1 on; FAIL_LOG is a file to which the name of
 * the call that failed is written.
 *
 * Calls within the C library and of the dynamic linker are not counted. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long calls;

/* Returns whether this call is the one that fails. */
static int Fails(const char* name) {
  static long wanted = -1;
  if (wanted < 0) {
    const char* text = getenv("FAIL_CALL");
    wanted = text == NULL ? 0 : atol(text);
  }
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != wanted) return 0;
  const char* const log = getenv("FAIL_LOG");
  if (log != NULL) {
    const long file =
        syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char line[64];
    const int size = snprintf(line, sizeof(line), "%s", name);
    syscall(SYS_write, file, line, size);
    syscall(SYS_close, file);
  }
  errno = EIO;
  return 1;
}

/* A function of the C library that returns `failed` when it fails. */
#define FAILING(type, failed, name, parameters, arguments)      \
  type name parameters {                                        \
    static type(*real) parameters;                              \
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #name); \
    return Fails(#name) ? failed : real arguments;              \
  }

FAILING(ssize_t, -1, read, (int f, void* to, size_t n), (f, to, n))
FAILING(ssize_t, -1, pread, (int f, void* to, size_t n, off_t at),
        (f, to, n, at))
FAILING(ssize_t, -1, pread64, (int f, void* to, size_t n, off64_t at),
        (f, to, n, at))
FAILING(ssize_t, -1, write, (int f, const void* from, size_t n), (f, from, n))
FAILING(ssize_t, -1, writev, (int f, const struct iovec* from, int n),
        (f, from, n))
FAILING(ssize_t, -1, pwrite, (int f, const void* from, size_t n, off_t at),
        (f, from, n, at))
FAILING(ssize_t, -1, pwrite64, (int f, const void* from, size_t n, off64_t at),
        (f, from, n, at))
FAILING(int, -1, fsync, (int f), (f))
FAILING(int, -1, fdatasync, (int f), (f))
FAILING(int, -1, rename, (const char* from, const char* to), (from, to))
FAILING(int, -1, link, (const char* from, const char* to), (from, to))
FAILING(int, -1, unlink, (const char* path), (path))
FAILING(int, -1, stat, (const char* path, struct stat* to), (path, to))
FAILING(int, -1, lstat, (const char* path, struct stat* to), (path, to))
FAILING(int, -1, fstat, (int f, struct stat* to), (f, to))
FAILING(int, -1, stat64, (const char* path, struct stat64* to), (path, to))
FAILING(int, -1, lstat64, (const char* path, struct stat64* to), (path, to))
FAILING(int, -1, fstat64, (int f, struct stat64* to), (f, to))
FAILING(DIR*, NULL, opendir, (const char* path), (path))
FAILING(DIR*, NULL, fdopendir, (int f), (f))
FAILING(struct dirent*, NULL, readdir, (DIR * of), (of))
FAILING(struct dirent64*, NULL, readdir64, (DIR * of), (of))
FAILING(int, -1, fchmod, (int f, mode_t mode), (f, mode))
FAILING(ssize_t, -1, flistxattr, (int f, char* to, size_t n), (f, to, n))

FAILING(ssize_t, -1, copy_file_range,
        (int from, off64_t* at, int to, off64_t* to_at, size_t n,
         unsigned flags),
        (from, at, to, to_at, n, flags))

/* They take a mode if they create a file. */
#define FAILING_OPEN(name)                                            \
  int name(const char* path, int flags, ...) {                        \
    static int (*real)(const char*, int, ...);                        \
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #name);       \
    va_list rest;                                                     \
    va_start(rest, flags);                                            \
    const mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                     \
    return Fails(#name) ? -1 : real(path, flags, mode);               \
  }
FAILING_OPEN(open)
FAILING_OPEN(open64)
