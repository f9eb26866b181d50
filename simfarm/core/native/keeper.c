/* Starts a bot and stays beside it until nothing of it is left alive:
 *
 *     keeper WORKER MEMORY FILE_SIZE PROCESSES WALLS FOLDER COMMAND
 *
 * WORKER is the pid of the process that calls it, MEMORY and FILE_SIZE are bytes for each process of the bot, PROCESSES
 * is how many there may be at once, WALLS is `process`, `counted` or `namespace`, FOLDER is the bot's scratch folder and
 * COMMAND is what /bin/sh runs there. Standard input, output and error become the bot's alone.
 *
 * The bot ends when COMMAND ends, on SIGTERM, with the worker (then the folder goes as well), or when it has too many
 * processes. The keeper is the reaper of all that the bot starts, in whatever session, so that nothing gets away. It ends
 * as the command did: with its exit code or by its signal; TOO_MANY and FAILED are signals that nothing else ends by.
 *
 * The count is taken now and then; that a bot cannot outrun it is up to the kernel, which refuses to fork beyond a few
 * hundred, and ends at one blow all that belongs to a user or to a namespace of processes. Run by root, a bot therefore
 * gets a user of its own, which also owns its folder: it may read what root reads, but it can signal and write to nobody
 * else. Run by others it gets namespaces of users and processes with `counted`; with `process` all that the user runs
 * counts, so that the bound is wider, and they are stopped one by one before they are ended. `namespace` takes the
 * network away as well, and leaves nothing writable but the folder. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TOO_MANY SIGRTMAX
#define FAILED (SIGRTMAX - 1)
#define LOOK_MS 50          /* between counts of the bot's processes */
#define GROWING_MS 5        /* the same while they become more */
#define THREADS 256         /* that the kernel grants on top of PROCESSES where it counts for this bot alone */
#define NICE 10             /* of a bot that shares its user with the keeper, lest the keeper be starved */
#define FIRST_USER 0x60000000
#define OTHERS 256          /* the same, if others are counted as well: how much these may grow */

static pid_t worker, bot;
static rlim_t memory, file_size;
static long processes;
static int in_namespace, closed, counted, usual;
static const char *folder, *command;
static uid_t own_user;      /* 0: the bot keeps the keeper's */
static sigset_t handled;
static int ended, status;   /* whether COMMAND has ended, and how, as wait() tells it */
static int told[2];         /* a pipe by which forks of this program tell TROUBLE, or how COMMAND ended */

#define TROUBLE (-1)

static void end_by(int number)
{
    sigset_t all;
    signal(number, SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    kill(getpid(), number);
    _exit(128 + number);
}

static void tell(int what)
{
    if (write(told[1], &what, sizeof what) != sizeof what)
        _exit(1);
}

static void fail(const char *what)
{
    dprintf(2, "simfarm cannot start a bot: %s: %s\n", what, strerror(errno));
    tell(TROUBLE);
    end_by(FAILED);
}

/* ---- what the bot may use */

static int give(const char *path, const struct stat *found, int type, struct FTW *place)
{
    (void)found, (void)type, (void)place;
    return lchown(path, own_user, own_user);
}

static void choose_user(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};
    if (geteuid() || syscall(SYS_capget, &header, data))
        return;
    unsigned needed = 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_CHOWN | 1u << CAP_DAC_READ_SEARCH;
    if ((data[0].permitted & needed) != needed)
        return;
    own_user = FIRST_USER + (uid_t)getpid();
    /* fails where this user is not one of the container's: then it stays root */
    if (nftw(folder, give, 16, FTW_PHYS))
        own_user = 0;
}

static void become_user(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{.permitted = 1u << CAP_DAC_READ_SEARCH}};
    data[0].effective = data[0].inheritable = data[0].permitted;
    if (prctl(PR_SET_KEEPCAPS, 1) || setgroups(0, NULL) || setresgid(own_user, own_user, own_user)
        || setresuid(own_user, own_user, own_user) || syscall(SYS_capset, &header, data)
        || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0))
        fail("a user of its own");
}

static void limit(int what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now))
        fail("getrlimit");
    if (most > now.rlim_max)
        most = now.rlim_max;
    if (setrlimit(what, &(struct rlimit){most, most}))
        fail("setrlimit");
}

/* What all users run at the moment, threads included. */
static rlim_t running(void)
{
    rlim_t all = 0;
    FILE *file = fopen("/proc/loadavg", "re");
    if (!file || fscanf(file, "%*f %*f %*f %*d/%lu", &all) != 1)
        fail("/proc/loadavg");
    fclose(file);
    return all;
}

static void run(pid_t keeper)
{
    setsid();
    setpriority(PRIO_PROCESS, 0, usual + (own_user || counted ? 0 : NICE));
    limit(RLIMIT_AS, memory);
    limit(RLIMIT_FSIZE, file_size);
    limit(RLIMIT_NPROC, (rlim_t)processes + THREADS + (own_user || counted ? 0 : OTHERS + running()));
    /* a namespace's root could undo the walls */
    for (int right = 0; in_namespace && !own_user && right <= CAP_LAST_CAP; right++)
        prctl(PR_CAPBSET_DROP, right);
    if (own_user)
        become_user();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    signal(SIGINT, SIG_DFL);
    /* changing users clears it, so that it comes last; a keeper that is gone by now would not be noticed */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper)
        _exit(1);
    sigprocmask(SIG_UNBLOCK, &handled, NULL);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    fail("/bin/sh");
}

static void let_go_of_pipes(void)
{
    int nothing = open("/dev/null", O_RDWR);
    for (int pipe = 0; pipe < 3; pipe++)
        dup2(nothing, pipe);
    if (nothing > 2)
        close(nothing);
}

/* ---- walls: namespaces of processes, mounts, network and messages */

static void write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, text, strlen(text)) < 0)
        fail(path);
    close(file);
}

static void enter_namespaces(void)
{
    char map[64];
    uid_t user = geteuid();
    gid_t group = getegid();
    int flags = CLONE_NEWPID | (closed ? CLONE_NEWNET | CLONE_NEWIPC : 0);
    if (user == 0 && !unshare(flags))
        return;
    counted = 1;
    if (unshare(flags | CLONE_NEWUSER))
        fail("namespaces are refused");
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", user, user);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", group, group);
    write_file("/proc/self/gid_map", map);
}

static void close_files(void)
{
    struct mount_attr shut = {.attr_set = MOUNT_ATTR_RDONLY}, open = {.attr_clr = MOUNT_ATTR_RDONLY};
    if (mount(folder, folder, NULL, MS_BIND, NULL)
        || syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &shut, sizeof shut)
        || syscall(SYS_mount_setattr, AT_FDCWD, folder, 0, &open, sizeof open))
        fail("a read-only view of the files");
    if (!access("/dev/shm", F_OK) && mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m"))
        fail("/dev/shm of its own");
    /* the old working directory lies beneath the new mount */
    if (chdir(folder))
        fail(folder);
}

/* The first process of the namespace: when it ends, the kernel ends all the others. */
static void be_first(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* not the keeper's as well, which has to remove the folder */
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
        fail("mounts of its own");
    if (closed)
        close_files();
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        fail("/proc of its own");
    bot = fork();
    if (bot < 0)
        fail("fork");
    if (bot == 0)
        run(getppid());
    let_go_of_pipes();
    for (;;) {
        pid_t gone = waitpid(-1, &status, 0);
        if (gone == bot) {
            tell(status);
            _exit(0);
        }
    }
}

/* ---- keeping */

static pid_t *list(const char *path, pid_t *known, const pid_t *end)
{
    char text[1 << 14], *at = text;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[size < 0 ? 0 : size] = 0;
    while (known < end && (*known = (pid_t)strtol(at, &at, 10)) > 0)
        known++;
    return known;
}

/* Puts this process and those that have come from it into `known`, as far as they fit; returns their number. */
static long look(pid_t *known, long room)
{
    pid_t *end = known, *limit = known + room;
    *end++ = getpid();
    for (pid_t *at = known; at < end && end < limit; at++) {
        char path[64];
        struct stat found;
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", *at, *at);
        end = list(path, end, limit);
        /* children are listed by the thread that started them; a folder has two links more than subfolders */
        snprintf(path, sizeof path, "/proc/%d/task", *at);
        if (stat(path, &found) || found.st_nlink == 3)
            continue;
        DIR *threads = opendir(path);
        for (struct dirent *thread; threads && (thread = readdir(threads));) {
            int number = atoi(thread->d_name);
            snprintf(path, sizeof path, "/proc/%d/task/%d/children", *at, number);
            if (number && number != *at)
                end = list(path, end, limit);
        }
        if (threads)
            closedir(threads);
    }
    return end - known;
}

static void reap(void)
{
    int how;
    for (pid_t gone; (gone = waitpid(-1, &how, WNOHANG)) > 0;)
        if (gone == bot) {
            ended = 1;
            status = how;
        }
}

static void kill_descendants(void)
{
    static pid_t known[1 << 15];
    const long room = sizeof known / sizeof *known;
    if (own_user) {
        pid_t killer = fork();
        if (killer == 0) {
            if (setresuid(own_user, own_user, own_user) == 0)
                kill(-1, SIGKILL);
            _exit(0);
        }
    }
    /* who is stopped starts no others, and holds its place among those that the kernel grants */
    long size = look(known, room);
    for (long before = 0; size != before; before = size, size = look(known, room))
        for (long i = 1; i < size; i++)
            kill(known[i], SIGSTOP);
    for (long i = 1; i < size; i++)
        kill(known[i], SIGKILL);
}

static void end_all(void)
{
    if (!ended)
        kill(bot, SIGKILL);
    for (;;) {
        if (!ended) {
            waitpid(bot, &status, 0);
            ended = 1;
        }
        reap();
        if (waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) && errno == ECHILD)
            return;
        kill_descendants();
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}

static void remove_folder(void)
{
    if (chdir("/"))
        return;
    /* no process can be started in a namespace that has ended; no folder is shut to who rules the namespace of users */
    if (in_namespace)
        execlp("rm", "rm", "-rf", "--", folder, (char *)NULL);
    else
        execl("/bin/sh", "sh", "-c", "rm -rf -- \"$0\" || { chmod -R u+rwx -- \"$0\"; rm -rf -- \"$0\"; }", folder,
              (char *)NULL);
}

int main(int argc, char **argv)
{
    if (argc != 8)
        return 2;
    worker = atoi(argv[1]);
    memory = strtoull(argv[2], NULL, 10);
    file_size = strtoull(argv[3], NULL, 10);
    processes = atol(argv[4]);
    closed = !strcmp(argv[5], "namespace");
    in_namespace = closed || !strcmp(argv[5], "counted");
    folder = argv[6];
    command = argv[7];

    limit(RLIMIT_CORE, 0);
    /* where it may: not to be starved by those that it has to end */
    usual = getpriority(PRIO_PROCESS, 0);
    setpriority(PRIO_PROCESS, 0, -20);
    sigemptyset(&handled);
    sigaddset(&handled, SIGCHLD);
    sigaddset(&handled, SIGTERM);
    sigprocmask(SIG_BLOCK, &handled, NULL);
    int signals = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    int alive = (int)syscall(SYS_pidfd_open, worker, 0);
    if (pipe2(told, O_CLOEXEC | O_NONBLOCK) || signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1)
        || (alive < 0 && errno != ESRCH))
        fail("the keeper");
    if (in_namespace)
        enter_namespaces();
    choose_user();
    pid_t keeper = getpid();
    bot = fork();
    if (bot < 0)
        fail("fork");
    if (bot == 0) {
        if (in_namespace)
            be_first();
        run(keeper);
    }
    let_go_of_pipes();

    /* besides the bot's there is this one, and the first of the namespace */
    long found = 1, most = 1 + processes + in_namespace;
    pid_t known[most + 1];
    for (int stop = 0, wait = GROWING_MS; !ended && !stop && found <= most;) {
        struct pollfd polled[2] = {{.fd = signals, .events = POLLIN}, {.fd = alive, .events = POLLIN}};
        int happened = poll(polled, 2, wait);
        /* a worker that was gone before it could be watched has left this process to another */
        if (getppid() != worker || alive < 0 || (happened > 0 && polled[1].revents)) {
            end_all();
            remove_folder();
            return 1;
        }
        for (struct signalfd_siginfo got; read(signals, &got, sizeof got) == sizeof got;)
            stop |= got.ssi_signo == SIGTERM;
        reap();
        long before = found;
        found = ended ? 0 : look(known, most + 1);
        wait = found > before ? GROWING_MS : LOOK_MS;
    }
    end_all();
    int how;
    while (read(told[0], &how, sizeof how) == sizeof how) {
        if (how == TROUBLE)
            end_by(FAILED);
        status = how;
    }
    if (found > most)
        end_by(TOO_MANY);
    if (WIFSIGNALED(status) && WTERMSIG(status) < FAILED)
        end_by(WTERMSIG(status));
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
