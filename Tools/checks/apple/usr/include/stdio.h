#pragma once
#define RENAME_SWAP 2
#define RENAME_EXCL 4
int rename(const char *, const char *);
int renamex_np(const char *, const char *, unsigned int);
