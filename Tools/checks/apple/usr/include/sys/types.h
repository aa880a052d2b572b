#pragma once
#include <stddef.h>
#include <stdint.h>
typedef int32_t dev_t, pid_t;
typedef uint64_t ino_t;
typedef uint16_t mode_t, nlink_t;
typedef uint32_t uid_t, gid_t, socklen_t;
typedef int64_t off_t, blkcnt_t;
typedef int32_t blksize_t;
typedef long ssize_t, time_t;
typedef char *caddr_t;
struct timespec {
  time_t tv_sec;
  long tv_nsec;
};
