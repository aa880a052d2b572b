#pragma once
int *__error(void);
#define errno (*__error())
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define EACCES 13
#define EEXIST 17
#define ENOTDIR 20
#define EISDIR 21
#define EINVAL 22
#define ENOTTY 25
#define EPIPE 32
#define EAGAIN 35
#define ENOTSUP 45
#define ENOSYS 78
