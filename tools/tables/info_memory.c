/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/tables/info_memory.h"

#include "tools/convert/device_memory.h"
#include "tools/convert/pipeline.h"

tl_status tl_info_memory(tl_cli *cli, tl_module *m) {
  tl_memory memory;
  tl_buf out;
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
