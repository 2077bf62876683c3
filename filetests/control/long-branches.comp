// Code of so many branches, loops and variables that the CPU target leaves most of LLVM's passes out, and does not
// allocate registers across blocks. The values are those of the same steps in another language.
//
// test run
// subgroup 4 32
// out 0.0 u32 [2049 268424750 3122485941 2925125869 3992217200 1067049516 1319496420 1063514481 2144923320 2099366929 2139631703 2105138678 2116641557 1968730698 2099434670 2145278083]
// out 0.1 u32 [54202621 2896120419 1075910403 3515879046 3939399501 3412126504 2389838173 4062300901 3422665673 945952504 2369688411 1994883755 4067096609 808316583 2057971955 2209903297]
// out 0.2 u32 [23219189 1188364552 3305259070 298283635 1885645486 1895827791 1251523123 1221180261 1756467570 933532348 2004709761 2520885513 965168481 3738497799 1485702392 3220412617]
// out 0.3 u32 [82628161 1811899565 1503333079 1497299745 1736153241 2904643221 2733861191 3258572685 104440647 1396359153 1571778127 489220457 1835012439 745381865 228028165 2546365409]
// out 0.4 u32 [10982847 704594157 1382099757 1048973153 1993139825 1474725401 1299623345 2591393700 2824584477 262202522 2266973290 2714496926 2078034258 1773724438 2687277992 1352044740]
#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) writeonly buffer B0 { uint last[]; };
layout(set = 0, binding = 1) writeonly buffer B1 { uint kept0[]; };
layout(set = 0, binding = 2) writeonly buffer B2 { uint kept1[]; };
layout(set = 0, binding = 3) writeonly buffer B3 { uint kept2[]; };
layout(set = 0, binding = 4) writeonly buffer B4 { uint kept3[]; };

#define X4(S) S S S S
#define X64(S) X4(X4(X4(S)))

uint next(uint h, uint lane)
{
    if ((h & 1u) != 0) return h * 3u + 1u;
    return h >> 1 | lane << 27;
}

void main()
{
    uint lane = gl_LocalInvocationIndex, h = lane * lane * 2654435761u, kept[4] = { 1u, 2u, 3u, 4u };
    X64({
        h = next(h, lane);
        for (uint k = 0; k < (h & 3u); ++k) {
            if (k == 2u) break;
            h += k * lane;
        }
        switch (h % 5u) {
        case 0: h ^= lane;
        case 1: h += 7u; break;
        case 3: h -= 9u; break;
        }
        float f = float(h & 1023u) * 0.5;
        if (f > 100.0) h += uint(f * 1.5);
        kept[h & 3u] += h;
        double d = double(h) / 4.0;
        if (d != floor(d)) kept[0] += lane;
    })
    last[lane] = h;
    kept0[lane] = kept[0];
    kept1[lane] = kept[1];
    kept2[lane] = kept[2];
    kept3[lane] = kept[3];
}
