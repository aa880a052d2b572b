// CCofferPlatform: the calls of the system that differ between Linux, musl and Apple's systems, or that Swift can't import.
//
// Each function returns -1 and sets errno if it fails, unless its comment says something else. ENOSYS means that this system
// doesn't have the call.

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
// Exchanges the names of two files or folders.
int coffer_exchange_names(const char *one, const char *other);
// Waits until the disk has a file's contents, in a drive's cache as well.
int coffer_sync(int descriptor);
// Waits until the disk has everything of the file system that a folder is on.
int coffer_sync_file_system(int folder);
// Opens an empty file without a name in a folder, for reading and writing.
int coffer_open_unnamed(const char *folder);
// Appends the rest of a file to another one, from where both are.
int coffer_append_rest(int from, int to);
// Tells the system that a file will be read from its beginning to its end.
void coffer_read_ahead(int descriptor);
// Whether the file system of a path is in memory.
bool coffer_is_in_memory(const char *path);

// Locks of a range of bytes that belong to an open file, not to the process

// Locks a range for one open file alone, without waiting. Needs a file that is open for writing.
int coffer_lock_range(int descriptor, int64_t start, int64_t count);
int coffer_unlock_range(int descriptor, int64_t start, int64_t count);
// Whether someone else holds a lock in a range: 1, or 0. The process's own locks of the older kind count, too.
int coffer_is_range_locked(int descriptor, int64_t start, int64_t count);
// Whether another process holds a lock of the older kind in a range: 1, or 0.
int coffer_is_range_locked_elsewhere(int descriptor, int64_t start, int64_t count);
// Takes a lease of a file, so that other processes wait when they open it. EAGAIN if one has it open.
int coffer_take_lease(int descriptor);
void coffer_release_lease(int descriptor);

// Memory

// Overwrites memory, which the compiler doesn't leave out.
void coffer_wipe(void *memory, size_t count);
// Overwrites 4 KiB of the stack below the caller, where functions that have returned may have left keys.
void coffer_wipe_stack(void);
// Compares memory in a time that depends on its size only.
bool coffer_is_equal(const void *one, const void *other, size_t count);
// Keeps pages out of core dumps, where the system can.
void coffer_keep_out_of_cores(void *memory, size_t count);
// Has pages zeroed in the child of a fork.
int coffer_wipe_on_fork(void *memory, size_t count);
// A number that differs between a process and the children that it forks.
uint64_t coffer_fork_generation(void);
// Fills memory of at most 256 bytes with random bytes of the system.
int coffer_random_bytes(void *memory, size_t count);

// Processes

// The present thread as a number.
uintptr_t coffer_thread(void);
// Forbids core dumps, and other processes of the user to trace this one. On Linux they can't read its memory either.
void coffer_forbid_inspection(void);
// Raises the number of files that may be open at once to `count` if it's allowed. Returns the resulting number.
uint64_t coffer_raise_open_files(uint64_t count);
// The path of the file that this process runs, or a link to it if another file has that path now.
int coffer_program_path(char *path, size_t count);
// The folder that lists this process's descriptors by their numbers.
const char *coffer_descriptors_folder(void);
// Sets the handler of an action.
void coffer_set_handler(struct sigaction *action, void (*handler)(int));
// Whether an action ignores its signal.
bool coffer_is_ignored(const struct sigaction *action);

// What a started command gets in place of this process's own. -1 and NULL leave it as it is.
typedef struct {
  int input, output;
  // Standard input, or output and errors, are /dev/null.
  bool has_empty_input, has_no_output;
  // It leaves this process's terminal, whose signals are for this process.
  bool has_own_session;
  // The signals that it doesn't ignore, although this process does, up to a 0.
  const int *default_signals;
} coffer_start;

// Starts /bin/sh with these variables, or with this process's own if they're NULL. Returns 0 or an error number.
int coffer_start_shell(pid_t *child, coffer_start start, char *const words[], char *const variables[]);

// Terminals and pipes

// Waits until a descriptor can be read, or written, for at most this time: 1, or 0 if the time is over.
int coffer_wait_until_readable(int descriptor, int milliseconds);
int coffer_wait_until_writable(int descriptor, int milliseconds);
// The columns and rows of a terminal. A number that isn't known is 0.
int coffer_terminal_size(int descriptor, int *columns, int *rows);

// Local sockets

int coffer_local_socket(void);
// Sends bytes. A closed connection is EPIPE, not a signal.
ssize_t coffer_send(int socket, const void *bytes, size_t count);

#endif
