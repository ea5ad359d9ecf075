// Reads PCD files with the Point Cloud Library, and prints for each the number of points and the sums
// of the fields that PCL has read: x, intensity, ring, time, and red, green and blue.

#include <pcl/io/pcd_io.h>
#include <pcl/point_types.h>

#include <cmath>
#include <cstdint>
#include <cstdio>

struct Point {
    PCL_ADD_POINT4D;
    PCL_ADD_INTENSITY;
    std::uint16_t ring;
    float time;
    EIGEN_MAKE_ALIGNED_OPERATOR_NEW
} EIGEN_ALIGN16;

POINT_CLOUD_REGISTER_POINT_STRUCT(
    Point, (float, x, x)(float, y, y)(float, z, z)(float, intensity, intensity)(
               std::uint16_t, ring, ring)(float, time, time))

int main(int count, char **paths) {
    for (int index = 1; index < count; ++index) {
        pcl::PointCloud<Point> cloud;
        pcl::PointCloud<pcl::PointXYZRGB> colors;
        if (pcl::io::loadPCDFile(paths[index], cloud) < 0 ||
            pcl::io::loadPCDFile(paths[index], colors) < 0) {
            return 1;
        }
        double x = 0, intensity = 0, ring = 0, time = 0;
        for (const Point &point : cloud) {
            x += std::isfinite(point.x) ? point.x : 0;
            intensity += std::isfinite(point.intensity) ? point.intensity : 0;
            ring += point.ring;
            time += point.time;
        }
        long red = 0, green = 0, blue = 0;
        for (const pcl::PointXYZRGB &point : colors) {
            red += point.r, green += point.g, blue += point.b;
        }
        std::printf("%zu %.17g %.17g %.17g %.17g %ld %ld %ld\n", cloud.size(), x, intensity, ring,
                    time, red, green, blue);
    }
}
