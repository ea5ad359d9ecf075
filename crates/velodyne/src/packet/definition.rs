//! The definitions of packets as text, for the metadata of topics.

/// The definition of a data packet.
pub(crate) const DATA: &str = "\
# data packet: 1206 bytes, little-endian (HDL-64E S3 manual, p. 31; VLP-16 manual 63-9243, 9.3)
block[12] blocks
u32 stamp # us past the hour
u8 status_type # HDL-64E: the type of status_value; others: the return mode
u8 status_value # HDL-64E: the value; others: the product ID

# block: 100 bytes
u16 flag # lasers 0 to 31: eeff, 32 to 63: ddff, 64 to 95: ccff, 96 to 127: bbff
u16 azimuth # 0.01 deg
return[32] returns

# return: 3 bytes
u16 distance # 2 mm; VLP-32, VLS-128 and Alpha Prime: 4 mm; 0: no return
u8 intensity
";

/// The definition of a position packet.
pub(crate) const POSITION: &str = "\
# position packet: 512 bytes, little-endian (VLP-16 manual 63-9243, 9.4.2)
u8[14] unused
motion[3] motions # HDL-32E only
u8[160] unused
u32 stamp # us past the hour
u8 pulse # of the receiver, each second: 0 absent, 1 synchronizing, 2 locked, 3 error
u8[3] unused
char[306] sentence # NMEA 0183: GPRMC or GPGGA, to a line break or NUL

# motion: 8 bytes (HDL-32E manual 63-9113, appendix B), each number in the lower 12 bits
i12 gyro # 0.09766 deg/s
i12 temperature # 0.1453 degC, plus 25 degC
i12 acceleration_x # 0.001221 g
i12 acceleration_y # 0.001221 g
";
