// A statically linked program, which nothing can be loaded into.
int main(void) { return 0; }
