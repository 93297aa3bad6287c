/* nearest.h - suggests a known word for an unknown one. */
#pragma once

#include "base/base.h"

/* Returns the one of words (NULL-terminated) that word most likely stands for, or NULL.
 * Tries in turn: a typing error of one letter; the same parts or initials
 * (`learning_rate' for `lr', `batch_size' for `batch'); typing errors in a third of its
 * letters. */
const char *cla_nearest(const char *word, const char *const *words);
