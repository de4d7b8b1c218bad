/* A plugin of qemu-user that writes the address of each instruction between two functions of a program:
 * -plugin trace.so,begin=ADDRESS,end=ADDRESS,to=FILE. What it needs of qemu's header is written out here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { QEMU_PLUGIN_CB_NO_REGS };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t at);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*call)(uint64_t id, struct qemu_plugin_tb *block));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, void (*call)(unsigned cpu, void *data), int flags,
                                            void *data);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*call)(uint64_t id, void *data), void *data);

int qemu_plugin_version = 1;
static uint64_t begin, end;
static int on;
static FILE *file;

static void executed(unsigned cpu, void *data) {
    const uint64_t at = (uintptr_t)data;
    (void)cpu;
    if (at == end) on = 0;
    if (on) fwrite(&at, sizeof at, 1, file);
    if (at == begin) on = 1;
}

static void translated(uint64_t id, struct qemu_plugin_tb *block) {
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        const uintptr_t at = qemu_plugin_insn_vaddr(instruction);
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, executed, QEMU_PLUGIN_CB_NO_REGS, (void *)at);
    }
}

static void ended(uint64_t id, void *data) {
    (void)id, (void)data;
    fclose(file);
}

int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments) {
    (void)info;
    for (int i = 0; i < count; i++) {
        if (!strncmp(arguments[i], "begin=", 6)) begin = strtoull(arguments[i] + 6, NULL, 16);
        if (!strncmp(arguments[i], "end=", 4)) end = strtoull(arguments[i] + 4, NULL, 16);
        if (!strncmp(arguments[i], "to=", 3)) file = fopen(arguments[i] + 3, "wb");
    }
    if (!begin || !end || !file) return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
