"""Pictures and videos on their way to a judge: opened with care, turned upright, resized by the suite's rule, encoded once."""

from salon_bench.media.data_urls import DataUrls, data_url
from salon_bench.media.policy import Encoding, PicturePolicy, SourceLimits
from salon_bench.media.preparing import Prepared, prepare_bytes, prepare_picture
from salon_bench.media.shelf import PictureShelf
from salon_bench.media.video_policy import VideoLimits, VideoPolicy
from salon_bench.media.video_sampling import SampledVideo, prepare_video, sample_video

__all__ = [
    "DataUrls",
    "Encoding",
    "PicturePolicy",
    "PictureShelf",
    "Prepared",
    "SampledVideo",
    "SourceLimits",
    "VideoLimits",
    "VideoPolicy",
    "data_url",
    "prepare_bytes",
    "prepare_picture",
    "prepare_video",
    "sample_video",
]
