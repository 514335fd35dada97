// Lets one call of the system that changes files under a folder fail: for LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long which = -1, seen;
static int number, for_ever;
static char folder[4096];

// Let the call of this number, counted from 0, fail; and all after it where `ever` is not 0.
void nd_fail(const char *under, long call, int error, int ever)
{
    strncpy(folder, under, sizeof folder - 1);
    which = call, number = error, for_ever = ever, seen = 0;
}

long nd_calls(void) { return seen; }

static int fails(const char *path)
{
    if (which < 0 || !path || strncmp(path, folder, strlen(folder)))
        return 0;
    long mine = __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
    if (mine != which && !(for_ever && mine > which))
        return 0;
    errno = number;
    return 1;
}

static int fd_fails(int fd)
{
    char link[64], path[4096];
    if (which < 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = 0;
    return fails(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *p, size_t n) { return fd_fails(fd) ? -1 : REAL(write)(fd, p, n); }
ssize_t pwrite(int fd, const void *p, size_t n, off_t at) { return fd_fails(fd) ? -1 : REAL(pwrite)(fd, p, n, at); }
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at) { return fd_fails(fd) ? -1 : REAL(pwrite64)(fd, p, n, at); }
int ftruncate(int fd, off_t n) { return fd_fails(fd) ? -1 : REAL(ftruncate)(fd, n); }
int ftruncate64(int fd, off64_t n) { return fd_fails(fd) ? -1 : REAL(ftruncate64)(fd, n); }
int fsync(int fd) { return fd_fails(fd) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fd_fails(fd) ? -1 : REAL(fdatasync)(fd); }
int posix_fallocate(int fd, off_t at, off_t n) { return fd_fails(fd) ? number : REAL(posix_fallocate)(fd, at, n); }
int posix_fallocate64(int fd, off64_t at, off64_t n) { return fd_fails(fd) ? number : REAL(posix_fallocate64)(fd, at, n); }
ssize_t copy_file_range(int a, off64_t *i, int b, off64_t *o, size_t n, unsigned f) { return fd_fails(b) ? -1 : REAL(copy_file_range)(a, i, b, o, n, f); }
int rename(const char *a, const char *b) { return fails(b) ? -1 : REAL(rename)(a, b); }
int unlink(const char *a) { return REAL(unlink)(a); }

static int creates(int flags) { return flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC); }

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                                  \
        va_end(more);                                                                              \
        return creates(flags) && fails(path) ? -1 : REAL(name)(path, flags, mode);                 \
    }
OPEN(open)
OPEN(open64)
