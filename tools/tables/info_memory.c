/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/tables/info_memory.h"

#include "tools/convert/device_memory.h"
#include "tools/convert/pipeline.h"
#include "tools/convert/profiles.h"

/* Prints each profile. */
static tl_status show_profiles(tl_cli *cli, const tl_module *m) {
  tl_profile_facts_vec profiles = {0};
  tl_buf out;
  tl_buf_init(&out);
  tl_status status = tl_profiles_try(cli, m, TL_STAGE_SELECT, &profiles);
  if (tl_cli_has(cli, TL_OPTION_AS_JSON)) {
    tl_json_writer w = tl_json_to(&out);
    tl_profiles_json(cli, &profiles, &w);
    tl_json_finish(&w);
  } else {
    tl_profiles_text(cli, &profiles, true, &out);
  }
  tl_profile_facts_vec_release(&profiles);
  if (status == TL_OK)
    return tl_cli_print(cli, &out);
  tl_buf_release(&out);
  return status;
}

tl_status tl_info_memory(tl_cli *cli, tl_module *m) {
  tl_memory memory;
  tl_buf out;
  if (cli->settings.options.n_profiles)
    return show_profiles(cli, m);
  TL_TRY(tl_cli_run(cli, m, TL_STAGE_SELECT, NULL));
  TL_TRY(tl_device_memory_measure(cli, m, &memory));
  tl_buf_init(&out);
  if (tl_cli_has(cli, TL_OPTION_AS_JSON)) {
    tl_json_writer w = tl_json_to(&out);
    tl_device_memory_json(cli, &memory, &w);
    tl_json_finish(&w);
  } else {
    tl_device_memory_text(cli, m, &memory, &out);
  }
  return tl_cli_print(cli, &out);
}
