/* SPDX-License-Identifier: Apache-2.0 */
/* draw.c - a digit is a few strokes in a box from -1 to 1; a hand bends the box.
 *
 * A stroke is an arc of an ellipse or a line.  For each pixel the nearest point of any
 * stroke is found, in the box before it is bent: no more is needed, since hands are
 * gentle.  All chance comes from a generator that begins anew for each picture. */
#include "draw.h"

#include <math.h>
#include <stddef.h>

enum {
    STROKES_MOST = 3,
    ARC_PIECES = 12,
    POINTS_MOST = STROKES_MOST * (ARC_PIECES + 1)
};

/* ---- the ten -----------------------------------------------------------------------
 */

/* An arc around (a, b) with radii (c, d), from angle e to f in degrees, clockwise from
 * the right; or a line from (a, b) to (c, d), where e == f. */
struct stroke {
    float a, b, c, d, e, f;
};

#define LINE(x0, y0, x1, y1)                                                           \
    {                                                                                  \
        x0, y0, x1, y1, 0, 0                                                           \
    }

static const struct stroke digits[DIGITS][STROKES_MOST] = {
    {{0, 0, .6f, .9f, 0, 360}},
    {LINE(-.35f, -.55f, 0, -.9f), LINE(0, -.9f, 0, .9f)},
    {{0, -.4f, .55f, .5f, 180, 390},
     LINE(.48f, -.15f, -.55f, .9f),
     LINE(-.55f, .9f, .6f, .9f)},
    {{0, -.45f, .5f, .45f, 200, 450}, {0, .45f, .55f, .45f, 270, 520}},
    {LINE(.2f, -.9f, -.6f, .3f), LINE(-.6f, .3f, .65f, .3f),
     LINE(.25f, -.2f, .25f, .9f)},
    {LINE(.5f, -.9f, -.4f, -.9f),
     LINE(-.4f, -.9f, -.42f, -.05f),
     {0, .35f, .55f, .55f, 225, 510}},
    {LINE(.35f, -.9f, -.45f, .2f), {0, .4f, .5f, .5f, 0, 360}},
    {LINE(-.55f, -.9f, .55f, -.9f), LINE(.55f, -.9f, -.1f, .9f)},
    {{0, -.45f, .42f, .45f, 0, 360}, {0, .45f, .52f, .45f, 0, 360}},
    {{0, -.4f, .5f, .5f, 0, 360}, LINE(.48f, -.3f, .25f, .9f)},
};

/* ---- chance ------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Uniform in [-1, 1). */
static float chance(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return (float)(mix(*state) >> 40) / 8388608.f - 1;
}

/* ---- drawing -----------------------------------------------------------------------
 */

/* A piece of a stroke, from one point to the next. */
struct piece {
    float x, y, dx, dy;
};

static size_t add_arc(const struct stroke *s, struct piece *piece)
{
    float step = (s->f - s->e) / ARC_PIECES * 0.017453293f;
    float angle = s->e * 0.017453293f;
    int i;

    for (i = 0; i < ARC_PIECES; i++, angle += step) {
        piece[i].x = s->a + s->c * cosf(angle);
        piece[i].y = s->b + s->d * sinf(angle);
        piece[i].dx = s->a + s->c * cosf(angle + step) - piece[i].x;
        piece[i].dy = s->b + s->d * sinf(angle + step) - piece[i].y;
    }
    return ARC_PIECES;
}

static size_t add_stroke(const struct stroke *s, struct piece *piece)
{
    if (s->e != s->f)
        return add_arc(s, piece);
    piece->x = s->a;
    piece->y = s->b;
    piece->dx = s->c - s->a;
    piece->dy = s->d - s->b;
    return 1;
}

/* Squared, from a point to the nearest piece. */
static float distance(const struct piece *piece, size_t count, float x, float y)
{
    float least = 100;
    size_t i;

    for (i = 0; i < count; i++) {
        const struct piece *p = &piece[i];
        float px = x - p->x, py = y - p->y;
        float along =
            (px * p->dx + py * p->dy) / (p->dx * p->dx + p->dy * p->dy + 1e-9f);
        float ex, ey;

        along = along < 0 ? 0 : along > 1 ? 1 : along;
        ex = px - along * p->dx;
        ey = py - along * p->dy;
        if (ex * ex + ey * ey < least)
            least = ex * ex + ey * ey;
    }
    return least;
}

int draw_digit(uint64_t seed, int64_t n, float noise, float *pixels)
{
    uint64_t state = mix(seed * 0x9e3779b97f4a7c15u + (uint64_t)n);
    int digit = (int)(mix(state ^ 0x5bd1e995u) % DIGITS);
    float turn = 0.25f * chance(&state), slant = 0.25f * chance(&state);
    float cosine = cosf(turn), sine = sinf(turn);
    float wide = 10 + 1.5f * chance(&state), tall = 10 + 1.5f * chance(&state);
    float left = SIDE / 2.f + 2.5f * chance(&state),
          top = SIDE / 2.f + 2.5f * chance(&state);
    float pen = 0.14f + 0.05f * chance(&state);
    struct piece piece[POINTS_MOST];
    size_t pieces = 0;
    int i, x, y;

    for (i = 0; i < STROKES_MOST; i++)
        if (digits[digit][i].c != 0 || digits[digit][i].d != 0)
            pieces += add_stroke(&digits[digit][i], piece + pieces);
    for (y = 0; y < SIDE; y++) {
        for (x = 0; x < SIDE; x++) {
            float u = ((float)x + .5f - left) / wide, v = ((float)y + .5f - top) / tall;
            float bent = u * cosine - v * sine + slant * v;
            float far = distance(piece, pieces, bent, u * sine + v * cosine);
            float ink = 1.5f - sqrtf(far) / pen;

            ink = ink < 0 ? 0 : ink > 1 ? 1 : ink;
            pixels[y * SIDE + x] = ink + noise * chance(&state);
        }
    }
    return digit;
}
