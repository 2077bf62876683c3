// Private variables keep their values between functions; constant initialisers are applied for each invocation; each
// invocation indexes its own arrays dynamically.
//
// test run
// subgroup 4 16 32
// out 0.0 i32 gen 16 = 42 + i + (i % 5) * (i % 5) + 3 * (i % 3 == 0 ? 7 : i % 3 == 1 ? 11 : 13)
#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };
int counter = 42;
int table[5];
const int primes[3] = int[3](7, 11, 13);

void fill()
{
    for (int k = 0; k < 5; ++k)
        table[k] = k * k;
}

void bump(int by) { counter += by; }

void main()
{
    int i = int(gl_LocalInvocationID.x);
    fill();
    bump(i);
    int local[7];
    for (int k = 0; k < 7; ++k)
        local[k] = primes[k % 3];
    int sum = 0;
    for (int k = 0; k < 3; ++k)
        sum += local[(i % 3 + 3 * k) % 3];
    x[i] = counter + table[i % 5] + sum;
}
