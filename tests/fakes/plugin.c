// libplugin.so: a program's plug-in, whose functions have the names that the HSA runtime calls its
// tools by, and are called from within it.
#include <stdio.h>

void OnLoad(void) { puts("the plug-in's OnLoad"); }
void OnUnload(void) { puts("the plug-in's OnUnload"); }
int use_plugin(void) {
  OnLoad();
  OnUnload();
  return fflush(stdout);
}
