// Levels of detail: stated, from gradients, with a bias and limits of the sampler, with a least one, between two.
//
// Level 0 consists of 0, level 1 of 100, level 2 of 200.
//
// test run
// subgroup 4 32
// dispatch 1 1 1
// tolerance exact
// image 0.0[0] R32Sfloat 4 4 1 3
// in 0.0[0] f32 [0*16 100*4 200]
// sampler 0.0[0] nearest
// image 0.0[1] R32Sfloat 4 4 1 3
// in 0.0[1] f32 [0*16 100*4 200]
// sampler 0.0[1] mip=linear
// image 0.0[2] R32Sfloat 4 4 1 3
// in 0.0[2] f32 [0*16 100*4 200]
// sampler 0.0[2] mip=linear bias=0.5
// image 0.0[3] R32Sfloat 4 4 1 3
// in 0.0[3] f32 [0*16 100*4 200]
// sampler 0.0[3] mip=linear lod=0.5..1.25
// inout 0.1 f32 fill 32 -1
// out 0.1 f32 [  0   0   0 100 100 200 200 200
//                0   0  25 100 125 175 200 200
//                0  50  75 150 175 200 200 200
//               50  50  50 100 125 125 125 125]
// inout 0.2 f32 fill 7 -1
// out 0.2 f32 [0 100 200 100 0 200 0]
// inout 0.3 f32 fill 4 -1
// out 0.3 f32 [150 100 200 25]
// inout 0.4 f32 fill 4 -1
// out 0.4 f32 [10 5 10 5]
// image 0.5[0] R32Sfloat 2 1
// in 0.5[0] f32 [0 10]
// sampler 0.5[0] min=linear
// image 0.5[1] R32Sfloat 2 1
// in 0.5[1] f32 [0 10]
// sampler 0.5[1] mag=linear
#version 450
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_ARB_sparse_texture_clamp : require
layout(local_size_x = 8, local_size_y = 4) in;
layout(set = 0, binding = 0) uniform sampler2D pictures[4];
layout(set = 0, binding = 1) buffer Levels { float levels[]; };
layout(set = 0, binding = 2) buffer Gradients { float gradients[]; };
layout(set = 0, binding = 3) buffer Clamped { float clamped[]; };
layout(set = 0, binding = 4) buffer Filters { float filters[]; };
layout(set = 0, binding = 5) uniform sampler2D sizes[2];

void main()
{
    uint i = gl_LocalInvocationID.x, picture = gl_LocalInvocationID.y;
    float lods[] = { -3, 0, 0.25, 1, 1.25, 1.75, 2, 9 };
    levels[gl_LocalInvocationIndex] = textureLod(pictures[nonuniformEXT(picture)], vec2(0.3), lods[i]).x;

    if (gl_LocalInvocationIndex == 0) {
        // The longer gradient counts, in texels of level 0: 4 times as long.
        vec2 o = vec2(0);
        gradients[0] = textureGrad(pictures[1], o, vec2(0.25, 0), o).x;
        gradients[1] = textureGrad(pictures[1], o, vec2(0.5, 0), vec2(0, 0.25)).x;
        gradients[2] = textureGrad(pictures[1], o, o, vec2(0, -1)).x;
        gradients[3] = textureGrad(pictures[0], o, vec2(0.375, 0.5), o).x;
        gradients[4] = textureGrad(pictures[1], o, vec2(0.0625), vec2(0.0625)).x;
        gradients[5] = textureGrad(pictures[0], o, vec2(9, 0), vec2(0, 9)).x;
        gradients[6] = textureGrad(pictures[1], o, o, o).x;

        clamped[0] = textureGradClampARB(pictures[1], o, vec2(0.25, 0), o, 1.5).x;
        clamped[1] = textureGradClampARB(pictures[1], o, vec2(0.5, 0), o, 0.5).x;
        clamped[2] = textureGradClampARB(pictures[0], o, o, o, 2).x;
        clamped[3] = textureGradOffsetClampARB(pictures[1], o, o, o, ivec2(1, 2), 0.25).x;

        // At level 0 the filter for magnification counts, below it the one for minification.
        filters[0] = textureLod(sizes[0], vec2(0.5), 0).x;
        filters[1] = textureLod(sizes[0], vec2(0.5), 0.25).x;
        filters[2] = textureLod(sizes[1], vec2(0.5), 0.25).x;
        filters[3] = textureLod(sizes[1], vec2(0.5), 0).x;
    }
}
