/* nearest.h - the known word that an unknown one stands for. */
#pragma once

#include "base/base.h"

/* The one of words (NULL-terminated) that word most likely stands for, or NULL when
 * none is near: a typing error of one letter, the same parts or initials
 * (`learning_rate' for `lr', `batch_size' for `batch'), or typing errors in a third of
 * its letters. */
const char *cla_nearest(const char *word, const char *const *words);
