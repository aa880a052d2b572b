#pragma once
char ***_NSGetEnviron(void);
