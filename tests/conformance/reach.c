/* SPDX-License-Identifier: MIT */
/* A program that does nothing; it is linked in ways in which no device reaches it. */
int main(void)
{
	return 0;
}
