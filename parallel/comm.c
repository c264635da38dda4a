/* comm.c - how this process finds its world: mpirun's variables, and the MPI plug-in. See comm.h.
 */
#include "parallel/comm.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first of the variables that holds a number; they are the launcher's, not knobs of ours. */
static int launcher_number(const char *const *names, int otherwise)
{
    for (; *names; names++) {
        const char *value = getenv(*names);
        if (value && *value) return atoi(value);
    }
    return otherwise;
}

int comm_mpi_world_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
    int size = launcher_number(names, 1);
    return size > 0 ? size : 1;
}

int comm_mpi_world_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", NULL};
    return comm_mpi_world_size() > 1 ? launcher_number(names, 0) : 0;
}

/* Beside the program, where builds and images put it. */
static void *open_plugin(struct error *error)
{
    char path[PATH_MAX + 32];
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
    if (len < 0) len = 0;
    path[len] = 0;
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "penstock-mpi.so");
    void *plugin = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* MPI's own plug-ins need its symbols */
    if (!plugin)
        error_set(error, STATUS_UNSUPPORTED, NULL,
                  "started by mpirun with %d ranks, but the MPI plug-in cannot be loaded (%s): "
                  "install an MPI with its headers and build again",
                  comm_mpi_world_size(), dlerror());
    return plugin;
}

enum status comm_mpi_join(int timeout_ms, struct comm **out, struct error *error)
{
    enum status (*join)(int, struct comm **, struct error *);
    void *plugin = open_plugin(error);
    if (!plugin) return STATUS_UNSUPPORTED;
    *(void **)(void *)&join = dlsym(plugin, "penstock_comm_mpi_join");
    if (!join) return error_set(error, STATUS_UNSUPPORTED, NULL, "the MPI plug-in is not ours");
    return join(timeout_ms, out, error);
}
