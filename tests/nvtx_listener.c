/* What Nsight does, in small: NVTX loads this through NVTX_INJECTION64_PATH, and it
 * writes the name of each range to standard error. */
#include <stdio.h>
#include <string.h>

#include <nvtx3/nvToolsExt.h>

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

static int depth;

static int
on_push(const char *name)
{
    fprintf(stderr, "range %s\n", name);
    return depth++;
}

static int
on_pop(void)
{
    return --depth;
}

int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;
    if (!callbacks ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
        return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)on_push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)on_pop;
    return 1;
}
