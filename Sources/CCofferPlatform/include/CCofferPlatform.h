// CCofferPlatform: system calls that differ between Linux, musl and Apple's systems, or that Swift can't import.
//
// Each function returns -1 and sets errno if it fails, unless its comment describes something else. ENOSYS indicates
// that the system doesn't support the call.

#ifndef CCOFFERPLATFORM_H
#define CCOFFERPLATFORM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Files

// Renames a file unless the new name exists.
int coffer_rename_without_replacing(const char *old, const char *new_name);
// Exchanges two files' or folders' names.
int coffer_exchange_names(const char *one, const char *other);
// Waits until a file's contents are on the disk, including the contents of the drive's cache.
int coffer_sync(int descriptor);
// Waits until all data of a folder's file system is on the disk.
int coffer_sync_file_system(int folder);
// Opens an empty unnamed file in a folder for reading and writing.
int coffer_open_unnamed(const char *folder);
// Copies the rest of a file to another file, starting at both files' current offsets.
int coffer_append_rest(int from, int to);
// Informs the system that a file will be read sequentially.
void coffer_read_ahead(int descriptor);
// Returns whether a path's file system is in memory.
bool coffer_is_in_memory(const char *path);

// Locks on byte ranges that belong to an open file instead of the process

// Locks a range exclusively for an open file, without waiting. The file must be open for writing.
int coffer_lock_range(int descriptor, int64_t start, int64_t count);
int coffer_unlock_range(int descriptor, int64_t start, int64_t count);
// Returns 1 if another open file or any process, including this process, holds a lock in a range, or otherwise 0.
int coffer_is_range_locked(int descriptor, int64_t start, int64_t count);
// Returns 1 if another process holds a process lock in a range, or otherwise 0.
int coffer_is_range_locked_elsewhere(int descriptor, int64_t start, int64_t count);
// Takes a lease on a file to make other processes wait when they open it. EAGAIN if another process has it open.
int coffer_take_lease(int descriptor);
void coffer_release_lease(int descriptor);

// Memory

// Overwrites memory. The compiler doesn't optimize this away.
void coffer_wipe(void *memory, size_t count);
// Overwrites 4 KiB of the stack below the caller, where functions that have returned may have left keys.
void coffer_wipe_stack(void);
// Compares memory in a time that depends only on its size.
bool coffer_is_equal(const void *one, const void *other, size_t count);
// Excludes pages from core dumps, if the system supports it.
void coffer_keep_out_of_cores(void *memory, size_t count);
// Zeroes pages in the child of a fork.
int coffer_wipe_on_fork(void *memory, size_t count);
// Returns a number that distinguishes a process from its forked children.
uint64_t coffer_fork_generation(void);
// Fills at most 256 bytes of memory with random bytes from the system.
int coffer_random_bytes(void *memory, size_t count);

// Processes

// Returns a number for the current thread.
uintptr_t coffer_thread(void);
// Disables core dumps, and prevents the user's other processes from tracing this process. On Linux, they can't read its
// memory either.
void coffer_forbid_inspection(void);
// Raises the maximum number of open files to `count`, if that's allowed. Returns the resulting maximum.
uint64_t coffer_raise_open_files(uint64_t count);
// Gets the path of this process's executable, or a link to it if another file has that path now.
int coffer_program_path(char *path, size_t count);
// Returns the folder that lists this process's descriptors by number.
const char *coffer_descriptors_folder(void);
// Sets an action's handler.
void coffer_set_handler(struct sigaction *action, void (*handler)(int));
// Returns whether an action ignores its signal.
bool coffer_is_ignored(const struct sigaction *action);

// The resources of a started command that differ from this process's. -1 and NULL keep this process's resource.
typedef struct {
  int input, output;
  // Whether standard input, or standard output and error, is /dev/null.
  bool has_empty_input, has_no_output;
  // Whether the command is detached from this process's terminal, whose signals are for this process.
  bool has_own_session;
  // The signals that the command doesn't ignore even if this process does, terminated by 0.
  const int *default_signals;
} coffer_start;

// Starts /bin/sh with these variables, or with this process's variables if NULL. Returns 0 or an error number.
int coffer_start_shell(pid_t *child, coffer_start start, char *const words[], char *const variables[]);

// Terminals and pipes

// Waits until a descriptor can be read or written. Returns 1, or 0 after the maximum time.
int coffer_wait_until_readable(int descriptor, int milliseconds);
int coffer_wait_until_writable(int descriptor, int milliseconds);
// Gets a terminal's columns and rows. An unknown number is 0.
int coffer_terminal_size(int descriptor, int *columns, int *rows);

// Local sockets

int coffer_local_socket(void);
// Sends bytes. A closed connection results in EPIPE instead of a signal.
ssize_t coffer_send(int socket, const void *bytes, size_t count);

#endif
