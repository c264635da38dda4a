/* cmd_version.c - `penstock version`. */
#include <stdio.h>

#include "server/commands.h"

int command_version(int argc, char **argv)
{
    (void)argc, (void)argv;
    printf("penstock %s\n", PENSTOCK_VERSION);
    return 0;
}
