#define _GNU_SOURCE

#include "CCofferPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#elif defined(__APPLE__)
#include <TargetConditionals.h>
#include <crt_externs.h>
#include <mach-o/dyld.h>
#include <stdio.h>
#if TARGET_OS_OSX
#include <sys/ptrace.h>
#include <sys/random.h>
#endif
#endif

#if defined(__linux__)
// These constants are from linux/fs.h and linux/magic.h, which aren't always available.
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1 << 0)
#define RENAME_EXCHANGE (1 << 1)
#endif
static const uint32_t tmpfs_magic = 0x01021994, ramfs_magic = 0x858458f6;
#endif

static inline int unsupported(void) {
  errno = ENOSYS;
  return -1;
}

// Files

int coffer_rename_without_replacing(const char *old, const char *new_name) {
#if defined(__linux__)
  return (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new_name, RENAME_NOREPLACE);
#elif defined(__APPLE__)
  return renamex_np(old, new_name, RENAME_EXCL);
#else
  return unsupported();
#endif
}

int coffer_exchange_names(const char *one, const char *other) {
#if defined(__linux__)
  return (int)syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
#elif defined(__APPLE__)
  return renamex_np(one, other, RENAME_SWAP);
#else
  return unsupported();
#endif
}

int coffer_sync(int descriptor) {
  int result;
#if defined(__APPLE__)
  do result = fcntl(descriptor, F_FULLFSYNC);
  while (result != 0 && errno == EINTR);
  // Some file systems don't support this command. fsync doesn't flush the drive's cache.
  if (result == 0 || (errno != ENOTSUP && errno != EINVAL && errno != ENOTTY)) return result;
#endif
  do result = fsync(descriptor);
  while (result != 0 && errno == EINTR);
  return result;
}

int coffer_sync_file_system(int folder) {
#if defined(__linux__)
  return syncfs(folder);
#elif defined(__APPLE__)
  // sync(2) only begins to write.
  if (fsync_volume_np(folder, SYNC_VOLUME_FULLSYNC | SYNC_VOLUME_WAIT) != 0 && errno != ENOTSUP && errno != EINVAL &&
      errno != ENOTTY)
    return -1;
  return coffer_sync(folder);
#else
  sync();
  return coffer_sync(folder);
#endif
}

int coffer_open_unnamed(const char *folder) {
#if defined(__linux__)
  return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#else
  (void)folder;
  return unsupported();
#endif
}

static int append_by_copies(int from, int to) {
  enum { size = 1 << 16 };
  char *memory = malloc(size);
  if (!memory) return -1;
  int result = 0;
  while (result == 0) {
    ssize_t count = read(from, memory, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      result = (int)count;
      break;
    }
    for (ssize_t done = 0; done < count && result == 0;) {
      ssize_t written = write(to, memory + done, (size_t)(count - done));
      if (written >= 0) done += written;
      else if (errno != EINTR) result = -1;
    }
  }
  int reason = errno;
  coffer_wipe(memory, size);
  free(memory);
  errno = reason;
  return result;
}

int coffer_append_rest(int from, int to) {
#if defined(__linux__)
  for (;;) {
    ssize_t count = sendfile(to, from, NULL, 1 << 30);
    if (count == 0) return 0;
    if (count > 0 || errno == EINTR) continue;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    break;
  }
#endif
  return append_by_copies(from, to);
}

void coffer_read_ahead(int descriptor) {
#if defined(__APPLE__)
  fcntl(descriptor, F_RDAHEAD, 1);
#else
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
}

bool coffer_is_in_memory(const char *path) {
#if defined(__linux__)
  struct statfs found;
  if (statfs(path, &found) != 0) return false;
  return (uint32_t)found.f_type == tmpfs_magic || (uint32_t)found.f_type == ramfs_magic;
#else
  (void)path;
  return false;
#endif
}

// Locks

static struct flock range(int type, int64_t start, int64_t count) {
  struct flock lock;
  memset(&lock, 0, sizeof lock);
  lock.l_type = (short)type;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = count;
  return lock;
}

int coffer_lock_range(int descriptor, int64_t start, int64_t count) {
  struct flock lock = range(F_WRLCK, start, count);
  return fcntl(descriptor, F_OFD_SETLK, &lock) == 0 ? 0 : -1;
}

int coffer_unlock_range(int descriptor, int64_t start, int64_t count) {
  struct flock lock = range(F_UNLCK, start, count);
  return fcntl(descriptor, F_OFD_SETLK, &lock) == 0 ? 0 : -1;
}

static int is_locked(int descriptor, int command, int64_t start, int64_t count) {
  struct flock lock = range(F_WRLCK, start, count);
  if (fcntl(descriptor, command, &lock) != 0) return -1;
  return lock.l_type != F_UNLCK;
}

int coffer_is_range_locked(int descriptor, int64_t start, int64_t count) {
  return is_locked(descriptor, F_OFD_GETLK, start, count);
}

int coffer_is_range_locked_elsewhere(int descriptor, int64_t start, int64_t count) {
  return is_locked(descriptor, F_GETLK, start, count);
}

int coffer_take_lease(int descriptor) {
#if defined(__linux__)
  // The kernel signals this process if another process opens the file. SIGURG is ignored unless a handler is set.
  fcntl(descriptor, F_SETSIG, SIGURG);
  return fcntl(descriptor, F_SETLEASE, F_WRLCK) == 0 ? 0 : -1;
#else
  (void)descriptor;
  return unsupported();
#endif
}

void coffer_release_lease(int descriptor) {
#if defined(__linux__)
  fcntl(descriptor, F_SETLEASE, F_UNLCK);
#else
  (void)descriptor;
#endif
}

// Memory

void coffer_wipe(void *memory, size_t count) {
#if defined(__APPLE__)
  // memset_s is declared only if a macro was defined before the first header, which a module of the SDK doesn't see.
  memset(memory, 0, count);
  __asm__ volatile("" : : "r"(memory) : "memory");
#else
  explicit_bzero(memory, count);
#endif
}

__attribute__((noinline)) void coffer_wipe_stack(void) {
  char depth[4096];
  coffer_wipe(depth, sizeof depth);
}

bool coffer_is_equal(const void *one, const void *other, size_t count) {
  const volatile unsigned char *left = one, *right = other;
  unsigned char difference = 0;
  for (size_t index = 0; index < count; index++) difference |= left[index] ^ right[index];
  return difference == 0;
}

void coffer_keep_out_of_cores(void *memory, size_t count) {
#if defined(MADV_DONTDUMP)
  madvise(memory, count, MADV_DONTDUMP);
#else
  (void)memory;
  (void)count;
#endif
}

int coffer_wipe_on_fork(void *memory, size_t count) {
#if defined(MADV_WIPEONFORK)
  return madvise(memory, count, MADV_WIPEONFORK);
#else
  (void)memory;
  (void)count;
  return unsupported();
#endif
}

static _Atomic uint64_t forks;
static pthread_once_t counts_forks = PTHREAD_ONCE_INIT;

static void count_fork(void) { atomic_fetch_add(&forks, 1); }

static void count_forks(void) { pthread_atfork(NULL, NULL, count_fork); }

uint64_t coffer_fork_generation(void) {
  pthread_once(&counts_forks, count_forks);
  return atomic_load_explicit(&forks, memory_order_relaxed);
}

int coffer_random_bytes(void *memory, size_t count) {
#if defined(__APPLE__) && !TARGET_OS_OSX
  arc4random_buf(memory, count);
  return 0;
#else
  return getentropy(memory, count);
#endif
}

// Processes

uintptr_t coffer_thread(void) { return (uintptr_t)pthread_self(); }

void coffer_forbid_inspection(void) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
#if defined(__linux__)
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#elif defined(__APPLE__) && TARGET_OS_OSX
  ptrace(PT_DENY_ATTACH, 0, 0, 0);
#endif
}

uint64_t coffer_raise_open_files(uint64_t count) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return UINT64_MAX;
  if (limit.rlim_cur < count) {
    struct rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max < count ? limit.rlim_max : count;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur;
}

int coffer_program_path(char *path, size_t count) {
#if defined(__linux__)
  static const char link[] = "/proc/self/exe";
  ssize_t length = readlink(link, path, count - 1);
  struct stat running, found;
  if (length > 0) path[length] = 0;
  bool is_same = length > 0 && stat(link, &running) == 0 && stat(path, &found) == 0 && running.st_dev == found.st_dev &&
                 running.st_ino == found.st_ino;
  if (is_same) return 0;
  if (count < sizeof link) return -1;
  memcpy(path, link, sizeof link);
  return 0;
#elif defined(__APPLE__)
  uint32_t size = (uint32_t)count;
  return _NSGetExecutablePath(path, &size) == 0 ? 0 : unsupported();
#else
  (void)path;
  (void)count;
  return unsupported();
#endif
}

const char *coffer_descriptors_folder(void) {
#if defined(__linux__)
  return "/proc/self/fd";
#else
  return "/dev/fd";
#endif
}

void coffer_set_handler(struct sigaction *action, void (*handler)(int)) { action->sa_handler = handler; }

bool coffer_is_ignored(const struct sigaction *action) { return action->sa_handler == SIG_IGN; }

static char *const *own_variables(void) {
#if defined(__APPLE__)
  return *_NSGetEnviron();
#else
  extern char **environ;
  return environ;
#endif
}

int coffer_start_shell(pid_t *child, coffer_start start, char *const words[], char *const variables[]) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int result = posix_spawn_file_actions_init(&actions);
  if (result != 0) return result;
  result = posix_spawnattr_init(&attributes);
  if (result == 0) {
    int flags = 0;
    if (start.has_empty_input)
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    else if (start.input >= 0)
      posix_spawn_file_actions_adddup2(&actions, start.input, STDIN_FILENO);
    if (start.has_no_output) {
      posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
      posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    } else if (start.output >= 0) {
      posix_spawn_file_actions_adddup2(&actions, start.output, STDOUT_FILENO);
    }
    if (start.default_signals) {
      sigset_t defaults;
      sigemptyset(&defaults);
      for (const int *number = start.default_signals; *number; number++) sigaddset(&defaults, *number);
      posix_spawnattr_setsigdefault(&attributes, &defaults);
      flags |= POSIX_SPAWN_SETSIGDEF;
    }
    if (start.has_own_session) flags |= POSIX_SPAWN_SETSID;
    posix_spawnattr_setflags(&attributes, (short)flags);
    result = posix_spawn(child, "/bin/sh", &actions, &attributes, words, variables ? variables : own_variables());
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return result;
}

// Terminals and pipes

static int wait_for(int descriptor, bool to_write, int milliseconds) {
  // On Apple's systems, poll(2) reports an error for a terminal.
  if (descriptor >= 0 && descriptor < FD_SETSIZE) {
    fd_set wanted;
    FD_ZERO(&wanted);
    FD_SET(descriptor, &wanted);
    struct timeval limit = {milliseconds / 1000, milliseconds % 1000 * 1000};
    return select(descriptor + 1, to_write ? NULL : &wanted, to_write ? &wanted : NULL, NULL, &limit);
  }
  struct pollfd wanted = {descriptor, to_write ? POLLOUT : POLLIN, 0};
  return poll(&wanted, 1, milliseconds);
}

int coffer_wait_until_readable(int descriptor, int milliseconds) { return wait_for(descriptor, false, milliseconds); }

int coffer_wait_until_writable(int descriptor, int milliseconds) { return wait_for(descriptor, true, milliseconds); }

int coffer_terminal_size(int descriptor, int *columns, int *rows) {
  struct winsize size;
  memset(&size, 0, sizeof size);
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) return -1;
  *columns = size.ws_col;
  *rows = size.ws_row;
  return 0;
}

// Local sockets

int coffer_local_socket(void) {
#if defined(__linux__)
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
  int made = socket(AF_UNIX, SOCK_STREAM, 0);
  if (made < 0) return -1;
  fcntl(made, F_SETFD, FD_CLOEXEC);
  int on = 1;
  setsockopt(made, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
  return made;
#endif
}

ssize_t coffer_send(int socket, const void *bytes, size_t count) {
#if defined(MSG_NOSIGNAL)
  return send(socket, bytes, count, MSG_NOSIGNAL);
#else
  return send(socket, bytes, count, 0);
#endif
}
