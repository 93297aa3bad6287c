/* integrity.h - hashes of the files in a model folder, checked whenever it is read.
 *
 * A state (*.ckpt.safetensors) contains the hash of its own bytes. So does config.json,
 * which under its key "integrity" also has the hash of each vocabulary. config.json is
 * written last and alone, so a kill at any moment leaves no hash without its file. */
#pragma once

#include "base/config.h"
#include "base/safetensors.h"
#include "base/seal.h"
#include "train/task.h"

/* Reads config.json of a run or model folder and compares all hashes in it. Warns of a
 * folder without hashes. settings do not contain the key "integrity"; call
 * cla_config_fini in any case.
 * Errors: CLA_E_IO, CLA_E_INPUT (names the damaged file), CLA_E_NOMEM. */
cla_status cla_folder_settings(const char *dir, cla_config *settings);

/* Does the same without reading other files, for callers that compare these one by one.
 * files  out  object of names and hashes, which the caller frees; NULL in a folder
 *             without hashes */
cla_status cla_folder_read(const char *dir, cla_config *settings, json_t **files);

/* Writes config.json from settings and files, the hashes of the other files; NULL for a
 * folder without hashes. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_folder_write(const char *dir, const cla_config *settings,
                            const json_t *files);

/* Hashes the files that a system of this kind needs in dir.
 * Errors: CLA_E_IO (also a name that is not a file), CLA_E_NOMEM. */
cla_status cla_folder_hash(const char *dir, const cla_task_kind *kind, json_t **files);

/* Compares dir/name with its hash. Errors: CLA_E_IO, CLA_E_INPUT, CLA_E_NOMEM. */
cla_status cla_folder_compare(const char *dir, const char *name, const json_t *hash);

/* Compares each of files, which may be NULL. Errors: those of cla_folder_compare. */
cla_status cla_folder_compare_all(const char *dir, const json_t *files);

/* Opens a state. Refuses one without a hash in a folder whose config has hashes, and
 * one with a parameter that is not finite. With moments, checks the moments (tensors
 * with '/' in their names), too.
 * Errors: those of cla_st_open, CLA_E_NUMERIC. */
cla_status cla_state_open(cla_st_file *file, const char *path, bool moments);

/* Removes the key "integrity" from settings: it belongs to the folder from which they
 * were copied. */
void cla_settings_plain(cla_config *settings);
