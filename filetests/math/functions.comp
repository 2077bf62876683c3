// The functions of one number, against their definition in f64. The bounds are those of the Vulkan specification,
// "Precision of GLSL.std.450 Instructions", or where these are relative to other functions, a little wider.
//
// test run
// subgroup 4 32
// define F(x) FN
// in 0.0 f32 rand 64 7 LO HI
//
// case sin: FN=sin(x) LO=-3.14159 HI=3.14159
// tolerance 4.8828125e-4 abs
// out 0.1 f32 gen 64 = sin($0.0[i])
// case cos: FN=cos(x) LO=-3.14159 HI=3.14159
// tolerance 4.8828125e-4 abs
// out 0.1 f32 gen 64 = cos($0.0[i])
// case tan: FN=tan(x) LO=-1.4 HI=1.4
// tolerance 4e-3 abs 4e-3 rel
// out 0.1 f32 gen 64 = tan($0.0[i])
// case asin: FN=asin(x) LO=-1 HI=1
// tolerance 4096 ulp 1e-3 abs
// out 0.1 f32 gen 64 = asin($0.0[i])
// case acos: FN=acos(x) LO=-1 HI=1
// tolerance 4096 ulp 1e-3 abs
// out 0.1 f32 gen 64 = acos($0.0[i])
// case atan: FN=atan(x) LO=-100 HI=100
// tolerance 4096 ulp
// out 0.1 f32 gen 64 = atan($0.0[i])
// case sinh: FN=sinh(x) LO=-5 HI=5
// tolerance 1e-4 rel 1e-4 abs
// out 0.1 f32 gen 64 = sinh($0.0[i])
// case cosh: FN=cosh(x) LO=-5 HI=5
// tolerance 1e-4 rel
// out 0.1 f32 gen 64 = cosh($0.0[i])
// case tanh: FN=tanh(x) LO=-5 HI=5
// tolerance 1e-4 rel 1e-5 abs
// out 0.1 f32 gen 64 = tanh($0.0[i])
// case asinh: FN=asinh(x) LO=-100 HI=100
// tolerance 1e-4 rel 1e-5 abs
// out 0.1 f32 gen 64 = asinh($0.0[i])
// case acosh: FN=acosh(x) LO=1.01 HI=100
// tolerance 1e-3 rel
// out 0.1 f32 gen 64 = acosh($0.0[i])
// case atanh: FN=atanh(x) LO=-0.95 HI=0.95
// tolerance 1e-4 rel 1e-5 abs
// out 0.1 f32 gen 64 = atanh($0.0[i])
// case exp: FN=exp(x) LO=-80 HI=80
// tolerance 170 ulp
// out 0.1 f32 gen 64 = exp($0.0[i])
// case exp2: FN=exp2(x) LO=-120 HI=120
// tolerance 250 ulp
// out 0.1 f32 gen 64 = exp2($0.0[i])
// case log: FN=log(x) LO=0.001 HI=1000
// tolerance 3 ulp 5e-7 abs
// out 0.1 f32 gen 64 = log($0.0[i])
// case log2: FN=log2(x) LO=0.001 HI=1000
// tolerance 3 ulp 5e-7 abs
// out 0.1 f32 gen 64 = log2($0.0[i])
// case sqrt: FN=sqrt(x) LO=0 HI=1e6
// tolerance 3 ulp
// out 0.1 f32 gen 64 = sqrt($0.0[i])
// case inversesqrt: FN=inversesqrt(x) LO=1e-3 HI=1e6
// tolerance 2 ulp
// out 0.1 f32 gen 64 = 1/sqrt($0.0[i])
// case reciprocal: FN=1.0/x LO=1e-3 HI=1e6
// tolerance 2 ulp
// out 0.1 f32 gen 64 = 1/$0.0[i]
// case radians: FN=radians(x) LO=-360 HI=360
// tolerance 3 ulp
// out 0.1 f32 gen 64 = $0.0[i]*0.017453292519943295
// case degrees: FN=degrees(x) LO=-7 HI=7
// tolerance 3 ulp
// out 0.1 f32 gen 64 = $0.0[i]*57.29577951308232
// case pow: FN=pow(x,2.5) LO=0.01 HI=100
// tolerance 1e-5 rel
// out 0.1 f32 gen 64 = pow($0.0[i],2.5)
// case atan2: FN=atan(x,-2.0) LO=-10 HI=10
// tolerance 4096 ulp
// out 0.1 f32 gen 64 = atan2($0.0[i],-2)
// case smoothstep: FN=smoothstep(-1.0,3.0,x) LO=-2 HI=4
// tolerance 1e-6 abs
// out 0.1 f32 gen 64 = clamp(($0.0[i]+1)/4,0,1)*clamp(($0.0[i]+1)/4,0,1)*(3-2*clamp(($0.0[i]+1)/4,0,1))
// case mix: FN=mix(x,10.0,0.25) LO=-10 HI=10
// tolerance 1e-5 abs
// out 0.1 f32 gen 64 = $0.0[i]*0.75+2.5
// case fma: FN=fma(x,x,-1.0) LO=-10 HI=10
// tolerance 1e-5 abs
// out 0.1 f32 gen 64 = $0.0[i]*$0.0[i]-1
// case mod: FN=mod(x,3.0) LO=-10 HI=10
// tolerance 1e-5 abs
// out 0.1 f32 gen 64 = $0.0[i]%3
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer Out { float y[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    y[i] = F(a[i]);
}
