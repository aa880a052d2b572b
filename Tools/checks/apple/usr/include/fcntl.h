#pragma once
#include <sys/types.h>
#define O_RDONLY 0x0
#define O_WRONLY 0x1
#define O_RDWR 0x2
#define O_NONBLOCK 0x4
#define O_NOFOLLOW 0x100
#define O_CREAT 0x200
#define O_EXCL 0x800
#define O_DIRECTORY 0x100000
#define O_CLOEXEC 0x1000000
#define AT_FDCWD -2
#define AT_SYMLINK_NOFOLLOW 0x20
#define AT_SYMLINK_FOLLOW 0x40
#define AT_REMOVEDIR 0x80
#define F_GETFD 1
#define F_SETFD 2
#define F_SETFL 4
#define F_GETLK 7
#define F_SETLK 8
#define F_RDAHEAD 45
#define F_FULLFSYNC 51
#define F_OFD_SETLK 90
#define F_OFD_GETLK 92
#define F_RDLCK 1
#define F_UNLCK 2
#define F_WRLCK 3
#define FD_CLOEXEC 1
#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8
struct flock {
  off_t l_start, l_len;
  pid_t l_pid;
  short l_type, l_whence;
};
int open(const char *, int, ...);
int fcntl(int, int, ...);
int flock(int, int);
