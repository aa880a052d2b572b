#pragma once
#include <sys/types.h>
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
#define SEEK_SET 0
#define F_OK 0
#define _SC_OPEN_MAX 5
int access(const char *, int);
int close(int);
int fsync(int);
uid_t geteuid(void);
pid_t getpid(void);
int link(const char *, const char *);
int linkat(int, const char *, int, const char *, int);
ssize_t pread(int, void *, size_t, off_t);
ssize_t pwrite(int, const void *, size_t, off_t);
ssize_t read(int, void *, size_t);
ssize_t readlink(const char *, char *, size_t);
int rmdir(const char *);
#define SYNC_VOLUME_FULLSYNC 0x01
#define SYNC_VOLUME_WAIT 0x02
int fsync_volume_np(int, int);
long sysconf(int);
int unlink(const char *);
int unlinkat(int, const char *, int);
int usleep(uint32_t);
ssize_t write(int, const void *, size_t);
