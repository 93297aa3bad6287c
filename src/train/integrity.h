/* integrity.h - hashes of the files of a model's folder, compared whenever it is read.
 *
 * A state (*.ckpt.safetensors) has the hash of its own bytes. config.json has one, too,
 * and under the key "integrity" the hash of each vocabulary. config.json is written
 * last and alone, so a kill at any moment leaves no hash without its file. */
#pragma once

#include "base/config.h"
#include "base/safetensors.h"
#include "base/seal.h"
#include "train/task.h"

/* Reads config.json of a run's or model's folder and compares all hashes in it. A
 * folder without hashes gets a warning. settings lack the key "integrity" afterwards,
 * and want cla_config_fini in any case.
 * Errors: CLA_E_IO, CLA_E_INPUT (the damaged file is named), CLA_E_NOMEM. */
cla_status cla_folder_settings(const char *dir, cla_config *settings);

/* The same without a look at other files, for who compares them one by one.
 * files  out  name: hash for each of them, the caller's; NULL in a folder without
 *             hashes */
cla_status cla_folder_read(const char *dir, cla_config *settings, json_t **files);

/* Writes config.json of settings; files are the hashes of the others, or NULL for a
 * folder without. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_folder_write(const char *dir, const cla_config *settings,
                            const json_t *files);

/* Hashes the files that a system of this kind needs in dir.
 * Errors: CLA_E_IO, CLA_E_INPUT (a name that is no file), CLA_E_NOMEM. */
cla_status cla_folder_hash(const char *dir, const cla_task_kind *kind, json_t **files);

/* Compares dir/name with its hash. Errors: CLA_E_IO, CLA_E_INPUT, CLA_E_NOMEM. */
cla_status cla_folder_compare(const char *dir, const char *name, const json_t *hash);

/* Compares each of files, which may be NULL. Errors: as cla_folder_compare. */
cla_status cla_folder_compare_all(const char *dir, const json_t *files);

/* Opens a state. One without a hash is refused in a folder whose config has hashes, and
 * so is one whose parameters are not finite; moments (the tensors with '/' in their
 * names) count where they are asked for.
 * Errors: those of cla_st_open, CLA_E_NUMERIC. */
cla_status cla_state_open(cla_st_file *file, const char *path, bool moments);

/* Takes the key "integrity" out of settings: it belongs to the folder they were copied
 * from. */
void cla_settings_plain(cla_config *settings);
