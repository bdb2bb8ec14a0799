/*
 * crc - the checksum of gzip (RFC 1952): CRC-32, polynomial 0xedb88320.
 */
#ifndef PS_CRC_H
#define PS_CRC_H

#include <stddef.h>
#include <stdint.h>

struct crc {
	uint32_t table[8][256];
	uint32_t state;
};

void crc_begin(struct crc *);
void crc_add(struct crc *, const void *, size_t);
uint32_t crc_value(const struct crc *);

#endif
