// Takes from a process what Apple's systems don't have, and keeps locks as their kernel does.
//
// A lock of flock(2) is in one list with those of fcntl(2), so it covers the whole file for everyone else. There are no
// leases, no files without a name, no pages that a fork wipes, no renameat2, no file systems in memory and no /proc/self/fd.
//
// With WRITERS_LOCK_THE_FILE, the lock of writers in WAL mode covers the whole file, as a lock of flock(2) does on Apple's
// systems. The harness must find that.

#define _GNU_SOURCE

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NEXT(type, name) static __typeof__(type) next; if (!next) next = (__typeof__(type))dlsym(RTLD_NEXT, name)

static int refused(int reason) {
  errno = reason;
  return -1;
}

int flock(int file, int operation) {
  struct stat status;
  if (fstat(file, &status) != 0) return -1;
  if (!S_ISREG(status.st_mode)) {
    NEXT(int (*)(int, int), "flock");
    return next(file, operation);
  }
  int is_writable = (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY;
  int kind = operation & ~LOCK_NB;
  struct flock lock = {.l_whence = SEEK_SET};
  lock.l_type = kind == LOCK_UN ? F_UNLCK : kind == LOCK_EX && is_writable ? F_WRLCK : F_RDLCK;
  return fcntl(file, operation & LOCK_NB ? F_OFD_SETLK : F_OFD_SETLKW, &lock);
}

// The byte that writers in WAL mode lock (RangeLock.writers).
static const off_t writers = 0x40000000 - 1;

static void cover_the_file(int command, void *argument) {
#ifdef WRITERS_LOCK_THE_FILE
  struct flock *lock = argument;
  if (command == F_OFD_SETLK && lock->l_start == writers) lock->l_start = lock->l_len = 0;
#else
  (void)command, (void)argument, (void)writers;
#endif
}

#define FCNTL(name)                                      \
  int name(int file, int command, ...) {                 \
    NEXT(int (*)(int, int, ...), #name);                 \
    va_list rest;                                        \
    va_start(rest, command);                             \
    void *argument = va_arg(rest, void *);               \
    va_end(rest);                                        \
    if (command == F_SETLEASE) return refused(EINVAL);   \
    cover_the_file(command, argument);                   \
    return next(file, command, argument);                \
  }

FCNTL(fcntl)
FCNTL(fcntl64)

#define OPEN(name)                                                             \
  int name(const char *path, int flags, ...) {                                 \
    NEXT(int (*)(const char *, int, ...), #name);                              \
    va_list rest;                                                              \
    va_start(rest, flags);                                                     \
    mode_t mode = va_arg(rest, mode_t);                                        \
    va_end(rest);                                                              \
    if ((flags & O_TMPFILE) == O_TMPFILE) return refused(EISDIR);              \
    return next(path, flags, mode);                                            \
  }

OPEN(open)
OPEN(open64)

int madvise(void *memory, size_t count, int advice) {
  if (advice == MADV_WIPEONFORK || advice == MADV_DONTDUMP) return refused(EINVAL);
  NEXT(int (*)(void *, size_t, int), "madvise");
  return next(memory, count, advice);
}

long syscall(long number, ...) {
  NEXT(long (*)(long, ...), "syscall");
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (int index = 0; index < 6; index++) words[index] = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_renameat2) return refused(ENOSYS);
  return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

DIR *opendir(const char *path) {
  NEXT(DIR * (*)(const char *), "opendir");
  if (strcmp(path, "/proc/self/fd") == 0) {
    errno = ENOENT;
    return NULL;
  }
  return next(path);
}

int statfs(const char *path, struct statfs *found) {
  NEXT(int (*)(const char *, struct statfs *), "statfs");
  int result = next(path, found);
  found->f_type = 0;
  return result;
}
