/* version.h - the version of these headers, for the preprocessor:
 *
 *   #if CLA_VERSION_MAJOR > 0 || CLA_VERSION_MINOR >= 2
 *
 * cla_version() of status.h is the version of the library that a program runs with. */
#pragma once

#include "clattn/status.h"

#define CLA_VERSION_MAJOR 0
#define CLA_VERSION_MINOR 2
#define CLA_VERSION_PATCH 0
