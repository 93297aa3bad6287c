/* undeclared.cl - calls a function that cl/builtins.clh does not declare. */

// y[i] = erf(i / 4)
WORK_GROUP(1, 1, 1)
kernel void undeclared_erf(global float *y)
{
    y[GROUP(0)] = erf(0.25f * (float)GROUP(0));
}
