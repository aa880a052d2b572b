// Records a program's changes of the files of one folder, for Tools/harnesses/power-loss; loaded before the C library.
//
// COFFER_WATCH is the real path of the folder; the folders in it are recorded too. COFFER_RECORD is a file outside of
// the folder, to which the records are added. All calls of the program on its files pass through here, SQLite's and its
// own. The harness would find a missed call: it compares the record with the files at the end. With COFFER_NO_UNNAMED,
// files without a name (O_TMPFILE) are refused, as some file systems do, for Tools/harnesses/kill-points.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// One record, as in recording.py: these numbers, then the bytes of the name, then the bytes of the data.
struct record {
  uint64_t kind, file, offset, name_count, data_count;
};
enum {
  MADE = 'm', FOLDER_MADE = 'd', NAMED = 'n', EXCHANGED = 'e', REMOVED = 'r', WRITTEN = 'w', CUT = 'c', SYNCED = 's',
  FOLDER_SYNCED = 'f', ALL_SYNCED = 'a', MAPPED = 'x'
};
enum { DESCRIPTORS = 4096, FOLDER = 1, LONGEST = 2 * PATH_MAX };

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static int output = -1, refuses_unnamed;
// For each descriptor: the number of its file or folder below the watched folder, FOLDER for that folder, else 0.
static uint64_t watched[DESCRIPTORS];
static char is_folder[DESCRIPTORS];

#define NEXT(name) ((__typeof__(&name))next(#name))

static void *next(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (!function) abort();
  return function;
}

__attribute__((constructor)) static void begin(void) {
  refuses_unnamed = getenv("COFFER_NO_UNNAMED") != NULL;
  folder = getenv("COFFER_WATCH");
  const char *path = getenv("COFFER_RECORD");
  if (folder && path) output = NEXT(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0) folder = NULL;
}

static void put(int kind, uint64_t file, uint64_t offset, const char *name, const void *data, size_t count) {
  struct record record = {kind, file, offset, name ? strlen(name) : 0, count};
  struct iovec parts[] = {{&record, sizeof record}, {(void *)name, record.name_count}, {(void *)data, count}};
  ssize_t whole = sizeof record + record.name_count + count;
  if (NEXT(writev)(output, parts, 3) != whole) abort();
}

// The path of an entry, which may not exist, relative to the watched folder; NULL outside of that folder. `path` is
// relative to the descriptor `at`.
static const char *name_from(int at, const char *path, char *memory) {
  if (!folder) return NULL;
  const char *slash = strrchr(path, '/');
  char above[LONGEST] = ".", real[PATH_MAX];
  size_t start = 0;
  if (at != AT_FDCWD && path[0] != '/') start = snprintf(above, sizeof above, "/proc/self/fd/%d/", at);
  if (slash) {
    size_t count = slash == path ? 1 : slash - path;
    if (start + count >= sizeof above) return NULL;
    memcpy(above + start, path, count);
    above[start + count] = 0;
  }
  size_t count = strlen(folder);
  if (!realpath(above, real) || strncmp(real, folder, count) != 0) return NULL;
  const char *last = slash ? slash + 1 : path;
  if (!real[count]) return strcpy(memory, last);
  if (real[count] != '/') return NULL;
  snprintf(memory, LONGEST, "%s/%s", real + count + 1, last);
  return memory;
}

static const char *name_of(const char *path, char *memory) { return name_from(AT_FDCWD, path, memory); }

static uint64_t file_from(int at, const char *path) {
  struct stat status;
  return fstatat(at, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_ino : 0;
}

static uint64_t file_at(const char *path) { return file_from(AT_FDCWD, path); }

static uint64_t file_of(int descriptor) {
  return descriptor >= 0 && descriptor < DESCRIPTORS ? watched[descriptor] : 0;
}

// Files.

static int opened(int descriptor, int at, const char *path, int flags, uint64_t before) {
  char memory[LONGEST];
  if (descriptor < 0 || descriptor >= DESCRIPTORS || !folder) return descriptor;
  struct stat status;
  if (fstat(descriptor, &status) != 0) return descriptor;
  watched[descriptor] = is_folder[descriptor] = 0;
  if (S_ISDIR(status.st_mode)) {
    is_folder[descriptor] = 1;
    char shown[32], real[PATH_MAX];
    snprintf(shown, sizeof shown, "/proc/self/fd/%d", descriptor);
    size_t count = strlen(folder);
    if (!realpath(shown, real) || strncmp(real, folder, count) != 0) return descriptor;
    if (!real[count] || real[count] == '/') watched[descriptor] = real[count] ? status.st_ino : FOLDER;
    return descriptor;
  }
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    if (!realpath(path, memory) || strcmp(memory, folder) != 0) return descriptor;
    watched[descriptor] = status.st_ino;
    put(MADE, status.st_ino, 0, NULL, NULL, 0);
    return descriptor;
  }
  const char *name = name_from(at, path, memory);
  if (!name) return descriptor;
  watched[descriptor] = status.st_ino;
  if (!before) {
    put(MADE, status.st_ino, 0, NULL, NULL, 0);
    put(NAMED, status.st_ino, 0, name, NULL, 0);
  } else if (flags & O_TRUNC) {
    put(CUT, status.st_ino, 0, NULL, NULL, 0);
  }
  return descriptor;
}

#define OPENING(name, at, path, flags, ...)                                                                            \
  mode_t mode = 0;                                                                                                     \
  va_list rest;                                                                                                        \
  va_start(rest, flags);                                                                                               \
  if (flags & (O_CREAT | __O_TMPFILE)) mode = va_arg(rest, mode_t);                                                    \
  va_end(rest);                                                                                                        \
  if (refuses_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {                                                           \
    errno = EOPNOTSUPP;                                                                                                \
    return -1;                                                                                                         \
  }                                                                                                                    \
  pthread_mutex_lock(&order);                                                                                          \
  uint64_t before = file_from(at, path);                                                                               \
  int descriptor = opened(NEXT(name)(__VA_ARGS__, mode), at, path, flags, before);                                     \
  pthread_mutex_unlock(&order);                                                                                        \
  return descriptor;

int open(const char *path, int flags, ...) { OPENING(open, AT_FDCWD, path, flags, path, flags) }
int open64(const char *path, int flags, ...) { OPENING(open64, AT_FDCWD, path, flags, path, flags) }
int openat(int at, const char *path, int flags, ...) { OPENING(openat, at, path, flags, at, path, flags) }
int openat64(int at, const char *path, int flags, ...) { OPENING(openat64, at, path, flags, at, path, flags) }

int close(int descriptor) {
  if (descriptor >= 0 && descriptor < DESCRIPTORS) watched[descriptor] = 0;
  return NEXT(close)(descriptor);
}

// Makes a call and records its effect, under one lock.
#define RECORDING(type, call, condition, ...)                                                                          \
  pthread_mutex_lock(&order);                                                                                          \
  type result = call;                                                                                                  \
  if (condition) put(__VA_ARGS__);                                                                                     \
  pthread_mutex_unlock(&order);                                                                                        \
  return result;

ssize_t write(int descriptor, const void *bytes, size_t count) {
  uint64_t file = file_of(descriptor);
  if (!file) return NEXT(write)(descriptor, bytes, count);
  RECORDING(ssize_t, NEXT(write)(descriptor, bytes, count), result > 0, WRITTEN, file,
            lseek(descriptor, 0, SEEK_CUR) - result, NULL, bytes, result)
}

#define WRITING(name, offset_type)                                                                                     \
  ssize_t name(int descriptor, const void *bytes, size_t count, offset_type offset) {                                  \
    uint64_t file = file_of(descriptor);                                                                               \
    if (!file) return NEXT(name)(descriptor, bytes, count, offset);                                                    \
    RECORDING(ssize_t, NEXT(name)(descriptor, bytes, count, offset), result > 0, WRITTEN, file, offset, NULL, bytes,   \
              result)                                                                                                  \
  }
WRITING(pwrite, off_t)
WRITING(pwrite64, off64_t)

#define CUTTING(name, offset_type)                                                                                     \
  int name(int descriptor, offset_type size) {                                                                         \
    uint64_t file = file_of(descriptor);                                                                               \
    if (!file) return NEXT(name)(descriptor, size);                                                                    \
    RECORDING(int, NEXT(name)(descriptor, size), result == 0, CUT, file, size, NULL, NULL, 0)                          \
  }
CUTTING(ftruncate, off_t)
CUTTING(ftruncate64, off64_t)

#define SYNCING(name)                                                                                                  \
  int name(int descriptor) {                                                                                           \
    uint64_t file = file_of(descriptor);                                                                               \
    if (!file) return NEXT(name)(descriptor);                                                                          \
    RECORDING(int, NEXT(name)(descriptor), result == 0, is_folder[descriptor] ? FOLDER_SYNCED : SYNCED, file, 0, NULL, \
              NULL, 0)                                                                                                 \
  }
SYNCING(fsync)
SYNCING(fdatasync)

int syncfs(int descriptor) {
  if (!file_of(descriptor)) return NEXT(syncfs)(descriptor);
  RECORDING(int, NEXT(syncfs)(descriptor), result == 0, ALL_SYNCED, 0, 0, NULL, NULL, 0)
}

// This library can't see writes through a shared mapping. So only the index of the log may have a writable one: SQLite
// rebuilds that index after a cut.
#define MAPPING(name, offset_type)                                                                                     \
  void *name(void *address, size_t count, int protection, int flags, int descriptor, offset_type offset) {             \
    uint64_t file = flags & MAP_SHARED && protection & PROT_WRITE ? file_of(descriptor) : 0;                           \
    if (!file) return NEXT(name)(address, count, protection, flags, descriptor, offset);                               \
    RECORDING(void *, NEXT(name)(address, count, protection, flags, descriptor, offset), result != MAP_FAILED, MAPPED, \
              file, 0, NULL, NULL, 0)                                                                                  \
  }
MAPPING(mmap, off_t)
MAPPING(mmap64, off64_t)

// Names.

int mkdir(const char *path, mode_t mode) {
  char memory[LONGEST];
  const char *name = name_of(path, memory);
  if (!name) return NEXT(mkdir)(path, mode);
  RECORDING(int, NEXT(mkdir)(path, mode), result == 0, FOLDER_MADE, file_at(path), 0, name, NULL, 0)
}

#define REMOVING(function)                                                                                             \
  int function(const char *path) {                                                                                     \
    char memory[LONGEST];                                                                                              \
    const char *name = name_of(path, memory);                                                                          \
    if (!name) return NEXT(function)(path);                                                                            \
    RECORDING(int, NEXT(function)(path), result == 0, REMOVED, 0, 0, name, NULL, 0)                                    \
  }
REMOVING(unlink)
REMOVING(rmdir)

int unlinkat(int at, const char *path, int flags) {
  char memory[LONGEST];
  const char *name = name_from(at, path, memory);
  if (!name) return NEXT(unlinkat)(at, path, flags);
  RECORDING(int, NEXT(unlinkat)(at, path, flags), result == 0, REMOVED, 0, 0, name, NULL, 0)
}

int rename(const char *from, const char *to) {
  char one[LONGEST], other[LONGEST];
  const char *old = name_of(from, one), *new = name_of(to, other);
  if (!old || !new) return NEXT(rename)(from, to);
  // The old name takes the place of the data: both names change, or neither.
  RECORDING(int, NEXT(rename)(from, to), result == 0, NAMED, file_at(to), 0, new, old, strlen(old))
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
  char one[LONGEST], other[LONGEST];
  const char *old = name_from(from_at, from, one), *new = name_from(to_at, to, other);
  if (!old || !new) return NEXT(renameat2)(from_at, from, to_at, to, flags);
  RECORDING(int, NEXT(renameat2)(from_at, from, to_at, to, flags), result == 0,
            flags & RENAME_EXCHANGE ? EXCHANGED : NAMED, file_from(to_at, to), 0, new, old, strlen(old))
}

// CCofferPlatform calls renameat2 by its number, because not every C library has the function.
long syscall(long number, ...) {
  long given[6];
  va_list rest;
  va_start(rest, number);
  for (int index = 0; index < 6; index++) given[index] = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_renameat2)
    return renameat2((int)given[0], (const char *)given[1], (int)given[2], (const char *)given[3], (unsigned)given[4]);
  return NEXT(syscall)(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

int link(const char *from, const char *to) {
  char memory[LONGEST];
  const char *name = name_of(to, memory);
  if (!name) return NEXT(link)(from, to);
  RECORDING(int, NEXT(link)(from, to), result == 0, NAMED, file_at(to), 0, name, NULL, 0)
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
  char memory[LONGEST];
  const char *name = name_from(to_at, to, memory);
  if (!name) return NEXT(linkat)(from_at, from, to_at, to, flags);
  RECORDING(int, NEXT(linkat)(from_at, from, to_at, to, flags), result == 0, NAMED, file_at(to), 0, name, NULL, 0)
}
