#pragma once
struct winsize {
  unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel;
};
#define TIOCGWINSZ 0x40087468ul
int ioctl(int, unsigned long, ...);
