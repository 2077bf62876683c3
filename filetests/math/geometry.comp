// dot, length, distance, normalize, cross, reflect, refract, faceforward.
//
// test run
// tolerance 1e-6 rel 1e-6 abs
// out 0.0 f32 [32 5 5 0.6 0.8 -3 6 -3 1 1 0 0.6 -0.8 0 0 -1]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Out { float x[16]; };

void main()
{
    float u = 1.0;
    x[0] = dot(vec3(u, 2, 3), vec3(4, 5, 6));
    x[1] = length(vec2(3 * u, 4));
    x[2] = distance(vec2(u, 1), vec2(4, 5));
    vec2 n = normalize(vec2(3 * u, 4));
    x[3] = n.x;
    x[4] = n.y;
    vec3 c = cross(vec3(u, 2, 3), vec3(4, 5, 6));
    x[5] = c.x;
    x[6] = c.y;
    x[7] = c.z;
    vec2 r = reflect(vec2(u, -1), vec2(0, 1));
    x[8] = r.x;
    x[9] = r.y;
    // Out of glass at more than the critical angle: nothing is refracted.
    x[10] = refract(normalize(vec2(u, -0.1)), vec2(0, 1), 1.5).x;
    vec2 s = refract(vec2(0.6 * u, -0.8), vec2(0, 1), 1.0);
    x[11] = s.x;
    x[12] = s.y;
    x[13] = x[14] = 0.0;
    x[15] = faceforward(vec2(0, u), vec2(0, 1), vec2(0, 1)).y;
}
