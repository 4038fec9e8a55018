/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the rules of Landlock from the command line and the filter of seccomp from a list of
 * system calls. Numbers and structures are those of the kernel's headers. */
#include "tools/cli/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of Debian 12; older kernels do not know them. */
#define ACCESS_TRUNCATE (UINT64_C(1) << 14)

#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITES_FILE (LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE)
#define WRITES_FOLDER                                                                              \
  (READS | WRITES_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |               \
   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REFER)
/* What nobody needs is handled too, and so denied. */
#define DENIED                                                                                     \
  (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |      \
   LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

/* ---- files ----------------------------------------------------------------------------------- */

/* A ruleset of Landlock that is being filled. */
typedef struct fence {
  int fd;
  uint64_t handled; /* what this kernel can deny */
  bool failed;      /* a rule could not be added; errno says why */
} fence;

/* Allows access to the file or folder behind a descriptor, which is closed. Rights that only
 * folders have cannot be given to a file. */
static void allow_open(fence *f, int fd, uint64_t access) {
  struct stat st;
  if (fd < 0)
    return;
  if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
    access &= LANDLOCK_ACCESS_FS_READ_FILE | WRITES_FILE;
  struct landlock_path_beneath_attr rule = {.allowed_access = access & f->handled, .parent_fd = fd};
  if (rule.allowed_access &&
      syscall(SYS_landlock_add_rule, f->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    f->failed = true;
  close(fd);
}

/* What does not exist needs no rule. */
static void allow(fence *f, const char *path, uint64_t access) {
  allow_open(f, open(path, O_PATH | O_CLOEXEC), access);
}

/* Allows access to a path and below the folder that it is in: a model may be a link, and its
 * weights lie beside the link. Where that folder is yet to be made, it is below the nearest one
 * that exists. */
static void allow_around(fence *f, const char *path, size_t n, uint64_t access) {
  char folder[4096];
  struct stat st;
  if (n == 0 || n >= sizeof folder)
    return;
  memcpy(folder, path, n);
  folder[n] = '\0';
  allow(f, folder, access);
  if (access == READS && stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
    return;
  do {
    while (n > 1 && folder[n - 1] == '/')
      n--;
    while (n && folder[n - 1] != '/')
      n--;
    memcpy(folder + n, ".", 2);
  } while (n > 1 && stat(folder, &st) != 0);
  allow(f, folder, access);
}

/* Allows reading around the existing files that an argument names, as a whole or as a part of a
 * list: FILE, --option=FILE, NAME=FILE;NAME=FILE. */
static void allow_argument(fence *f, const char *argument) {
  struct stat st;
  char part[4096];
  if (stat(argument, &st) == 0)
    allow_around(f, argument, strlen(argument), READS);
  for (const char *at = argument; *at;) {
    size_t n = strcspn(at, "=,;:");
    if (n && n < sizeof part) {
      memcpy(part, at, n);
      part[n] = '\0';
      if (stat(part, &st) == 0)
        allow_around(f, part, n, READS);
    }
    at += n + (at[n] != '\0');
  }
}

/* Allows writing around what options name. "{}" and "-" stand for no file. */
static void allow_outputs(fence *f, const tl_cli *cli) {
  static const int writing[] = {
#define WRITES(id) TL_OPTION_##id,
#include "frontend/config/options.tbl"
  };
  for (uint32_t i = 0; i < cli->outputs.n; i++)
    allow_around(f, cli->outputs.at[i], strlen(cli->outputs.at[i]), WRITES_FOLDER);
  for (size_t i = 0; i < sizeof writing / sizeof *writing; i++) {
    const char *path = tl_cli_get(cli, (tl_option_id)writing[i]);
    if (tl_cli_has(cli, (tl_option_id)writing[i]) && strcmp(path, "-") != 0)
      allow_around(f, path, strlen(path), WRITES_FOLDER);
  }
  const char *cache = getenv("TAILOR_CACHE_DIR");
  if (cache)
    allow_around(f, cache, strlen(cache), WRITES_FOLDER);
}

static tl_status fail_by_errno(tl_cli *cli, const char *what) {
  return tl_fail(&cli->diag, TL_IO, tl_at_option(&cli->settings, TL_OPTION_SANDBOX), "%s: %s", what,
                 strerror(errno));
}

static tl_status fence_files(tl_cli *cli) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 2) /* without REFER no file can be given its name */
    return tl_fail(&cli->diag, TL_UNSUPPORTED, tl_at_option(&cli->settings, TL_OPTION_SANDBOX),
                   "this kernel has no Landlock that would do (Linux 5.19)\v"
                   "leave the option out, or use a container");
  fence f = {.handled = READS | WRITES_FOLDER | DENIED};
  if (version < 3)
    f.handled &= ~ACCESS_TRUNCATE;
  struct landlock_ruleset_attr attr = {.handled_access_fs = f.handled};
  f.fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr.handled_access_fs, 0);
  if (f.fd < 0)
    return fail_by_errno(cli, "cannot make rules for files");
  for (int i = 0; i < cli->n_arguments; i++)
    allow_argument(&f, cli->arguments[i]);
  allow_outputs(&f, cli);
  allow(&f, "/dev/null", READS | WRITES_FILE);
  allow(&f, "/proc/sys/kernel/random/boot_id", READS); /* the cache asks for it */
  bool fenced = !f.failed && syscall(SYS_landlock_restrict_self, f.fd, 0) == 0;
  tl_status status = fenced ? TL_OK : fail_by_errno(cli, "cannot restrict files");
  close(f.fd);
  return status;
}

/* ---- system calls ---------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#if defined(MACHINE)

/* Ways to other programs, other processes, the network and the kernel's insides. They fail with
 * EPERM, which every caller expects. */
static const unsigned forbidden[] = {
    SYS_execve,      SYS_execveat,    SYS_socket,      SYS_socketpair,       SYS_connect,
    SYS_bind,        SYS_listen,      SYS_ptrace,      SYS_process_vm_readv, SYS_process_vm_writev,
    SYS_pidfd_getfd, SYS_mount,       SYS_umount2,     SYS_pivot_root,       SYS_chroot,
    SYS_setns,       SYS_unshare,     SYS_bpf,         SYS_perf_event_open,  SYS_keyctl,
    SYS_add_key,     SYS_request_key, SYS_init_module, SYS_finit_module,     SYS_delete_module,
    SYS_kexec_load,  SYS_reboot,      SYS_userfaultfd, SYS_io_uring_setup,   SYS_open_by_handle_at,
    SYS_swapon,      SYS_swapoff,     SYS_acct,
};

enum { N_FORBIDDEN = sizeof forbidden / sizeof *forbidden };

/* The filter compares the number of the call with each of the list. Calls in the way of another
 * machine, or of x32, end the process. */
static bool filter_calls(void) {
  struct sock_filter code[N_FORBIDDEN + 8];
  unsigned n = 0;
  code[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
  code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  code[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  code[n++] =
      (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, N_FORBIDDEN + 1, 0);
  for (unsigned i = 0; i < N_FORBIDDEN; i++)
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[i],
                                             (unsigned char)(N_FORBIDDEN - i), 0);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#endif

static tl_status fence_calls(tl_cli *cli) {
#if defined(MACHINE)
  return filter_calls() ? TL_OK : fail_by_errno(cli, "cannot restrict system calls");
#else
  return tl_fail(&cli->diag, TL_UNSUPPORTED, tl_at_option(&cli->settings, TL_OPTION_SANDBOX),
                 "there is no list of system calls for this processor\vleave the option out");
#endif
}

tl_status tl_sandbox_enter(tl_cli *cli) {
  if (!tl_cli_has(cli, TL_OPTION_SANDBOX))
    return TL_OK;
  if (tl_cli_has(cli, TL_OPTION_RUNNER))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, TL_OPTION_SANDBOX),
                   "--runner starts a program, which nothing in a sandbox can\vleave one of the "
                   "two out");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return fail_by_errno(cli, "cannot give up privileges");
  TL_TRY(fence_files(cli));
  return fence_calls(cli);
}
