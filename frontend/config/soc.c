/* SPDX-License-Identifier: Apache-2.0 */
/* --soc-version: chip names and the family each belongs to. */
#include "frontend/config/values.h"

typedef struct chip_prefix {
  const char *prefix;
  tl_soc_family family;
  bool needs_more; /* the bare prefix is another, older chip */
} chip_prefix;

/* The first matching row decides: longer prefixes first. */
static const chip_prefix chips[] = {
    {"Ascend910B", TL_SOC_A2, true}, /* 910B1..910B4-1; "Ascend910B" alone is a 910A */
    {"Ascend910C", TL_SOC_A2, false},
    {"Ascend910_93", TL_SOC_A2, false},
    {"Ascend950", TL_SOC_A2, false},
    {"Ascend910", TL_SOC_910, false},
    {"Ascend310", TL_SOC_910, false},
    {"Ascend710", TL_SOC_910, false}, /* the older name of the 310P */
    {"Ascend610", TL_SOC_910, false},
    {"Ascend035", TL_SOC_910, false},
};

static bool is_plain(const char *text) {
  for (const char *c = text; *c; c++) {
    bool good = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z') ||
                *c == '_' || *c == '-';
    if (!good)
      return false;
  }
  return true;
}

tl_status tl_read_soc(tl_diag *d, tl_location where, const char *text, tl_options *out) {
  static const char vendor[] = "Ascend";
  tl_sv name = tl_sv_from(text);
  if (!tl_sv_starts_with(name, vendor) || name.n == sizeof vendor - 1 || !is_plain(text))
    return tl_fail_code(
        d, TL_INVALID_ARGUMENT, "E10001", where, "'%s' is not the name of a chip\v%s", text,
        strpbrk(text, "${<") ? "this looks like a placeholder that was never filled in"
                             : "'npu-smi info' shows it; examples: Ascend910B1, Ascend310P3");
  out->soc_version = text;
  for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
    size_t n = strlen(chips[i].prefix);
    if (strncmp(text, chips[i].prefix, n) == 0 && !(chips[i].needs_more && text[n] == '\0')) {
      out->soc = chips[i].family;
      return TL_OK;
    }
  }
  out->soc = TL_SOC_A2;
  tl_warn(d, where, "chip '%s' is unknown here; the model is prepared as for Ascend910B1", text);
  return TL_OK;
}
