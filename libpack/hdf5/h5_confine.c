/*
 * A filter of system calls (seccomp, BPF): a list of those that are refused, all others pass;
 * for HDF5, its plugins and the C library call many, and not the same everywhere.
 */
#include "libpack/hdf5/h5_confine.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define OWN_ARCH AUDIT_ARCH_X86_64
#else
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

enum { INSTRUCTIONS_MAX = 256, X32_BIT = 0x40000000 };

/* Those that some machines do not have have other names there. */
static const uint16_t refused[] = {
    __NR_execve, __NR_execveat, __NR_socket, __NR_socketpair, __NR_connect, __NR_bind,
    __NR_listen, __NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev,
    __NR_tkill, __NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo, __NR_unlinkat, __NR_renameat2,
    __NR_linkat, __NR_symlinkat, __NR_mkdirat, __NR_mknodat, __NR_fchmodat, __NR_fchmod,
    __NR_fchownat, __NR_fchown, __NR_truncate, __NR_setxattr, __NR_lsetxattr, __NR_fsetxattr,
    __NR_removexattr, __NR_utimensat, __NR_mount, __NR_umount2, __NR_chroot,
    __NR_pivot_root, __NR_swapon, __NR_reboot, __NR_setuid, __NR_setgid, __NR_setresuid,
    __NR_setresgid, __NR_setns, __NR_unshare, __NR_init_module, __NR_finit_module,
    __NR_delete_module, __NR_bpf, __NR_keyctl, __NR_add_key, __NR_perf_event_open,
    __NR_open_by_handle_at, __NR_mq_open, __NR_shmget, __NR_semget, __NR_msgget,
#ifdef __NR_userfaultfd
    __NR_userfaultfd,
#endif
#ifdef __NR_io_uring_setup
    __NR_io_uring_setup,
#endif
#ifdef __NR_pidfd_open
    __NR_pidfd_open,
#endif
#ifdef __NR_renameat
    __NR_renameat,
#endif
#ifdef __x86_64__
    __NR_fork, __NR_vfork, __NR_unlink, __NR_rename, __NR_link, __NR_symlink, __NR_mkdir,
    __NR_rmdir, __NR_mknod, __NR_chmod, __NR_chown, __NR_lchown, __NR_creat, __NR_utime,
    __NR_utimes, __NR_futimesat,
#endif
};

struct program {
    struct sock_filter code[INSTRUCTIONS_MAX];
    unsigned short n;
};

static void
put(struct program *p, struct sock_filter instruction)
{
    if (p->n < INSTRUCTIONS_MAX)
        p->code[p->n++] = instruction;
}

static void
load(struct program *p, size_t offset)
{
    put(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void
refuse(struct program *p, int errnum)
{
    put(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                        SECCOMP_RET_ERRNO | ((uint32_t)errnum & 0xffff)));
}

static void
allow(struct program *p)
{
    put(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

/* What follows, of n instructions, is for this call alone. */
static void
for_call(struct program *p, uint32_t number, uint8_t n)
{
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, n));
}

/* The lower half of argument i, of a machine that keeps it in front. */
static size_t
argument(int i)
{
    return offsetof(struct seccomp_data, args) + (size_t)i * sizeof(uint64_t);
}

/* A call whose argument may have none of these bits. */
static void
refuse_bits(struct program *p, uint32_t number, int arg, uint32_t bits)
{
    for_call(p, number, 4);
    load(p, argument(arg));
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    refuse(p, EPERM);
    allow(p);
}

/* A call whose argument is to be this, or have this bit. */
static void
want(struct program *p, uint32_t number, int arg, uint16_t test, uint32_t value)
{
    for_call(p, number, 4);
    load(p, argument(arg));
    put(p, (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | test | BPF_K), value, 1, 0));
    refuse(p, EPERM);
    allow(p);
}

static void
write_program(struct program *p)
{
    const uint32_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
    load(p, offsetof(struct seccomp_data, arch));
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0));
    refuse(p, EPERM); /* calls of another machine, which have other numbers */
    load(p, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
    refuse(p, EPERM);
#endif
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        for_call(p, refused[i], 1);
        refuse(p, EPERM);
    }
#ifdef __NR_clone3
    for_call(p, __NR_clone3, 1); /* its flags lie in memory; the C library takes clone then */
    refuse(p, ENOSYS);
#endif
#ifdef __NR_openat2
    for_call(p, __NR_openat2, 1);
    refuse(p, ENOSYS);
#endif
#ifdef __NR_open
    refuse_bits(p, __NR_open, 1, writing);
#endif
    refuse_bits(p, __NR_openat, 2, writing);
    want(p, __NR_clone, 0, BPF_JSET, CLONE_THREAD);
    want(p, __NR_kill, 0, BPF_JEQ, (uint32_t)getpid());
    want(p, __NR_tgkill, 0, BPF_JEQ, (uint32_t)getpid()); /* itself */
    allow(p);
}

bool
pack_h5_confine(void)
{
    struct program p = { .n = 0 };
    write_program(&p);
    struct sock_fprog filter = { .len = p.n, .filter = p.code };
    return p.n < INSTRUCTIONS_MAX && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

#else

bool
pack_h5_confine(void)
{
    return false;
}

#endif
