#pragma once
#include <stddef.h>
void arc4random_buf(void *, size_t);
void free(void *);
void *malloc(size_t);
