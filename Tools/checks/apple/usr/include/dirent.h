#pragma once
#include <stdint.h>
struct dirent {
  uint64_t d_ino, d_seekoff;
  uint16_t d_reclen, d_namlen;
  uint8_t d_type;
  char d_name[1024];
};
typedef struct {
  int __dd_fd;
} DIR;
int closedir(DIR *);
DIR *fdopendir(int);
struct dirent *readdir(DIR *);
