/* Compresses or restores a part of a field once more than once, the last time between `begin` and `end`, for a tracer:
 * once REQUEST TYPE FILE OFFSET BYTES compress|decompress [DIM...]. Prints where sleek_compress is. Started as
 * `once --trace FILE PROGRAM …` it is the tracer: it lets the processor go step by step from `begin` to `end` and writes
 * the address of each instruction. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <sleek.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static int trace(const char *to, char **command) {
    FILE *file = fopen(to, "wb");
    struct user_regs_struct registers;
    int status, stepping = 0;
    const pid_t child = fork();
    if (!file || child < 0) return 1;
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL), setenv("STOP", "1", 1), execv(command[0], command), _exit(127);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        if (WSTOPSIG(status) == SIGSTOP) stepping = !stepping;
        else if (stepping && ptrace(PTRACE_GETREGS, child, NULL, &registers) == 0) {
            const uint64_t at = registers.rip;
            fwrite(&at, sizeof at, 1, file);
        }
        ptrace(stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, child, NULL, NULL);
    }
    return fclose(file) || !WIFEXITED(status) || WEXITSTATUS(status);
}
#else
static int trace(const char *to, char **command) {
    (void)to, (void)command;
    return 1;
}
#endif

__attribute__((noinline)) void begin(void) {
    if (getenv("STOP")) raise(SIGSTOP);
}

__attribute__((noinline)) void end(void) {
    if (getenv("STOP")) raise(SIGSTOP);
}

int main(int count, char **arguments) {
    sleek_params params;
    uint64_t dims[4];
    size_t capacity, length = 0, done;
    if (count > 3 && !strcmp(arguments[1], "--trace")) return trace(arguments[2], arguments + 3);
    if (count < 7 || count > 11) return 64;
    const size_t bytes = strtoul(arguments[5], NULL, 10), values = bytes / (atoi(arguments[2]) == SLEEK_F64 ? 8 : 4);
    FILE *file = fopen(arguments[3], "rb");
    char *array = malloc(bytes), *restored = malloc(bytes), *stream;
    if (!file || fseek(file, atol(arguments[4]), SEEK_SET) || fread(array, 1, bytes, file) != bytes) return 1;
    if (sleek_params_init(&params) || sleek_params_parse(&params, arguments[1])) return 2;
    params.dtype = atoi(arguments[2]), params.threads = 1;
    for (int k = 7; k < count; k++) dims[k - 7] = strtoul(arguments[k], NULL, 10);
    if (count > 7) params.dims = dims, params.rank = count - 7;
    capacity = sleek_compress_bound(&params, values), stream = malloc(capacity);
    printf("%" PRIuPTR "\n", (uintptr_t)dlsym(RTLD_DEFAULT, "sleek_compress"));
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        const int last = i == 1, compress = !strcmp(arguments[6], "compress");
        if (last && compress) begin();
        if (sleek_compress(&params, array, values, stream, capacity, &length, NULL)) return 3;
        if (last && compress) end();
        if (last && !compress) begin();
        if (sleek_decompress(stream, length, restored, bytes, &done, NULL)) return 4;
        if (last && !compress) end();
    }
    return 0;
}
