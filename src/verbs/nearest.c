/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "nearest.h"

#define LONGEST 40

static int least(int a, int b, int c)
{
	int m = a < b ? a : b;

	return m < c ? m : c;
}

/* How many letters must be inserted, removed, replaced or swapped with the next one. */
static int distance(const char *a, const char *b)
{
	int d[LONGEST + 1][LONGEST + 1];
	int n = strlen(a), m = strlen(b);

	for (int i = 0; i <= n; i++)
		d[i][0] = i;
	for (int j = 0; j <= m; j++)
		d[0][j] = j;
	for (int i = 1; i <= n; i++) {
		for (int j = 1; j <= m; j++) {
			int replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			d[i][j] = least(d[i - 1][j] + 1, d[i][j - 1] + 1, replaced);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1, replaced);
		}
	}
	return d[n][m];
}

const char *srd_nearest(const char *word, const char *const *names, int count)
{
	const char *best = NULL;
	int best_distance = 0;

	if (!*word || strlen(word) > LONGEST)
		return NULL;
	for (int i = 0; i < count; i++) {
		int far;

		if (strlen(names[i]) > LONGEST)
			continue;
		far = distance(word, names[i]);
		/* A third of the letters may be wrong; more is another word. */
		if (far * 3 > (int)strlen(names[i]) + 1 || (best && far >= best_distance))
			continue;
		best = names[i];
		best_distance = far;
	}
	return best;
}
